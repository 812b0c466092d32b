import { EventEmitter, on } from 'node:events';
import { get } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RunEvent } from '../../src/agent/run.ts';
import type { Clock } from '../../src/clock.ts';
import type { AppOptions } from '../../src/http/app-options.ts';
import type { HttpApp } from '../../src/http/http-app.ts';
import { until } from '../support/until.ts';
import { as, createNeighbours, type Neighbours, runEvent, startApp } from './http-fixture.ts';
import { problemOf } from './problem-of.ts';

let neighbours: Neighbours;
let app: HttpApp;
let log: RunEvent[];
let bus: EventEmitter;
let open: number;
const timers = new Set<() => void>();

/** Timers fire when the test says so. */
const clock: Clock = {
  now: () => 0,
  monotonic: () => 0,
  setTimer(_delayMs, run) {
    timers.add(run);
    return () => timers.delete(run);
  },
};

function publish(event: RunEvent): void {
  log.push(event);
  bus.emit('event');
}

beforeEach(async () => {
  log = [];
  bus = new EventEmitter();
  open = 0;
  timers.clear();
  neighbours = createNeighbours();
  neighbours.runs.events = async function* ({ afterSeq, signal }) {
    open += 1;
    try {
      let last = afterSeq;
      for (;;) {
        for (const event of log.filter(({ seq }) => seq > last)) {
          yield event;
          last = event.seq;
          if (event.kind === 'run.finished') return;
        }
        if (log.at(-1)?.kind === 'run.finished') return;
        try {
          for await (const _ of on(bus, 'event', { signal })) break;
        } catch {
          return;
        }
      }
    } finally {
      open -= 1;
    }
  };
  app = startApp(neighbours, {} as AppOptions['confirmations'], { clock });
  await app.ready();
});
afterEach(() => app.close());

const events = (id: string, headers: Record<string, string> = {}) =>
  app.inject({ method: 'GET', url: `/v1/runs/${id}/events`, headers: { ...as('procurement'), ...headers } });

describe('the event stream of a run', () => {
  it('gives each event with its number, and ends after `run.finished`', async () => {
    const run = neighbours.runs.add({ status: 'succeeded', finishedAt: new Date() });
    log.push(runEvent(1, 'run.started'), runEvent(2), runEvent(3, 'run.finished'));
    const response = await events(run.id);
    expect(response.headers['content-type']).toBe('text/event-stream');
    expect(response.headers['cache-control']).toBe('no-store');
    expect(response.body.split('\n\n').filter(Boolean)).toEqual(
      [
        [1, 'run.started'],
        [2, 'model.delta'],
        [3, 'run.finished'],
      ].map(
        ([seq, kind]) =>
          `id: ${seq}\nevent: ${kind}\ndata: ${JSON.stringify({
            seq,
            kind,
            at: '2026-11-30T10:00:00.000Z',
            data: { text: `event ${seq}` },
          })}`,
      ),
    );
  });

  it('goes on after the event that the client has seen, and says 204 where there is none', async () => {
    const run = neighbours.runs.add({ status: 'succeeded', finishedAt: new Date() });
    log.push(runEvent(1), runEvent(2), runEvent(3, 'run.finished'));
    const resumed = await events(run.id, { 'last-event-id': '2' });
    expect(resumed.body.match(/^id: .*/gm)).toEqual(['id: 3']);
    const over = await events(run.id, { 'last-event-id': '3' });
    expect([over.statusCode, over.body]).toEqual([204, '']);
  });

  it.each([['x'], ['-1'], ['1.5'], ['99999999999999999999'], ['999999999999999'], ['4'], ['1, 2']])(
    'refuses the Last-Event-ID %s',
    async (id) => {
      const response = await events(neighbours.runs.add().id, { 'last-event-id': id });
      expect([response.statusCode, problemOf(response).code]).toEqual([400, 'invalid_request']);
    },
  );

  it('answers 503, not an empty stream, where the events cannot be read', async () => {
    neighbours.runs.events = () => {
      throw Object.assign(new Error('connect ECONNREFUSED 10.0.0.5:5432'), { code: 'ECONNREFUSED' });
    };
    const response = await events(neighbours.runs.add().id);
    expect(problemOf(response)).toMatchObject({ status: 503, code: 'unavailable' });
    expect(response.body).not.toContain('10.0.0.5');
  });

  describe('over a real socket', () => {
    async function follow(id: string, headers: Record<string, string> = {}) {
      const url = await app.listen({ host: '127.0.0.1', port: 0 });
      let text = '';
      let ended = false;
      const request = get(
        `${url}/v1/runs/${id}/events`,
        { headers: { ...as('procurement'), ...headers } },
        (response) => {
          response.on('data', (chunk) => {
            text += chunk;
          });
          response.on('end', () => {
            ended = true;
          });
        },
      );
      request.on('error', () => {});
      return { text: () => text, ended: () => ended, hangUp: () => request.destroy() };
    }

    it('brings events as they happen, keeps the line open while nothing does, and ends', async () => {
      const stream = await follow(neighbours.runs.add().id);
      await until(() => open === 1);
      publish(runEvent(1, 'run.started'));
      await until(() => stream.text().includes('id: 1'));
      await until(() => timers.size === 1);
      for (const fire of timers) {
        timers.delete(fire);
        fire();
      }
      await until(() => stream.text().includes(': still here'));
      publish(runEvent(2, 'run.finished'));
      await until(() => stream.ended());
      expect(stream.text()).toMatch(/id: 2\nevent: run\.finished\n/);
      await until(() => open === 0 && timers.size === 0);
    });

    it('lets go of everything when the client hangs up', async () => {
      const stream = await follow(neighbours.runs.add().id);
      await until(() => open === 1);
      stream.hangUp();
      await until(() => open === 0 && timers.size === 0);
    });

    it('ends open streams when the service stops', async () => {
      const stream = await follow(neighbours.runs.add().id);
      await until(() => open === 1);
      await app.close();
      await until(() => stream.ended());
      expect(open).toBe(0);
    });
  });
});

describe('waiting for a run', () => {
  it('waits as long as asked, at most a minute, and as far as asked', async () => {
    const run = neighbours.runs.add();
    const waits: unknown[] = [];
    neighbours.runs.onWait = async ({ timeoutMs, untilWaiting }) => {
      waits.push([timeoutMs, untilWaiting]);
      return { ...run, status: 'waiting' };
    };
    for (const query of ['', '?wait=0s', '?wait=30s', '?wait=5m&until=waiting']) {
      const response = await app.inject({
        method: 'GET',
        url: `/v1/runs/${run.id}${query}`,
        headers: as('procurement'),
      });
      expect(response.statusCode).toBe(200);
    }
    expect(waits).toEqual([
      [30_000, false],
      [60_000, true],
    ]);
  });

  it('ends with what is known when the service stops', async () => {
    const run = neighbours.runs.add();
    let waiting = false;
    neighbours.runs.onWait = ({ signal }) =>
      new Promise((resolve) => {
        waiting = true;
        signal.addEventListener('abort', () => resolve(run));
      });
    const url = await app.listen({ host: '127.0.0.1', port: 0 });
    const response = fetch(`${url}/v1/runs/${run.id}?wait=60s`, { headers: as('procurement') });
    await until(() => waiting);
    await app.close();
    expect(await (await response).json()).toMatchObject({ id: run.id, status: 'running' });
  });

  it('starts a run for a person as that person, who then cannot be taken for somebody else', async () => {
    const start = (payload: object) =>
      app.inject({ method: 'POST', url: '/v1/runs', headers: as('lin.tao'), payload });
    expect((await start({ agent: 'procurement', input: 'go' })).statusCode).toBe(202);
    expect(neighbours.runs.started.at(-1)).toMatchObject({
      requester: 'lin.tao',
      requesterNamedByAgent: false,
      apiKeyId: null,
    });
    const other = await start({ agent: 'procurement', input: 'go', requester: 'zhao.min' });
    expect([other.statusCode, problemOf(other).code]).toEqual([403, 'requester_not_allowed']);
  });
});
