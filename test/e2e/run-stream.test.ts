import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunningService } from '../../src/main.ts';
import { ModelServer, type Turn } from '../agent/model-server.ts';
import { callPiece, finish, liveTurn, type StreamPart, words } from '../agent/model-stream.ts';
import { rebuilt } from '../agent/rebuilt.ts';
import { ToolServer } from '../agent/tool-server.ts';
import { newPostgresDatabase } from '../support/databases.ts';
import { runStatement } from '../support/run-statement.ts';
import { until } from '../support/until.ts';
import { call, PAYMENT, read } from './api.ts';
import { KEYS, type Platforms, startPlatforms, yamlFor } from './platforms.ts';
import { startServiceInProcess } from './service-in-process.ts';
import { startServiceProcess } from './service-process.ts';

const PAY = { id: 'p', name: 'oa__pay', arguments: PAYMENT };
const PAYING = callPiece({ index: 0, ...PAY, arguments: JSON.stringify(PAYMENT) });
const PLAN = { nodes: [{ id: 'pay', tool: 'oa__pay', args: PAYMENT }] };

interface StreamedEvent {
  readonly id: number;
  readonly kind: string;
  readonly data: Readonly<Record<string, unknown>>;
}

interface RunJson {
  readonly invocations: readonly { readonly confirmation: string }[];
}

/** One connection to a run's events: what came over it, until it ended or was cut. */
interface Stream {
  readonly events: readonly StreamedEvent[];
  readonly ended: Promise<void>;
  cut(): void;
}

describe('the events of a run over HTTP, over breaks and restarts', () => {
  const model = new ModelServer();
  const tools = new ToolServer();
  let platforms: Platforms;
  let dataDir: string;
  let databaseUrl: string;
  let service: RunningService;

  const yaml = ({ parkAfter }: { readonly parkAfter: string }): string => {
    const changes = `
parkAfter: ${parkAfter}
models:
  buyer: { baseUrl: "${modelUrl}", apiKey: "a-key-of-the-model", model: buyer }
  planner: { baseUrl: "${modelUrl}", apiKey: "a-key-of-the-model", model: planner }
agents:
  - { id: procurement, owner: zhao.min }
  - { id: buyer, model: buyer, owner: zhao.min, tools: ["oa__*"] }
  - { id: planner, model: planner, owner: zhao.min, executor: dag, tools: ["oa__*"] }
connectors:
  - id: oa
    kind: http
    baseUrl: ${toolsUrl}
    tools:
      - { name: pay, description: Pays., path: /payments, requiresConfirmation: true }
defaultPolicy: { approvers: ["group:finance"], channels: [pay-slack] }
`;
    return yamlFor({ platforms, databaseUrl, dataDir, changes });
  };
  const begin = async () => {
    service = await startServiceInProcess(yaml({ parkAfter: '1s' }));
    platforms.serviceUrl = service.url;
  };
  let modelUrl: string;
  let toolsUrl: string;

  beforeAll(async () => {
    platforms = await startPlatforms();
    dataDir = await mkdtemp(join(tmpdir(), 'countersign-data-'));
    databaseUrl = await newPostgresDatabase();
    [modelUrl, toolsUrl] = [await model.start(), await tools.start()];
    await begin();
  });
  afterAll(async () => {
    await service.stop();
    await Promise.all([platforms.stop(), model.stop(), tools.stop()]);
    await rm(dataDir, { recursive: true, force: true });
  });

  async function follow(run: string, after: number | null, url = service.url): Promise<Stream> {
    const cutting = new AbortController();
    const response = await fetch(`${url}/v1/runs/${run}/events`, {
      headers: {
        authorization: `Bearer ${KEYS.admin}`,
        ...(after !== null && { 'last-event-id': String(after) }),
      },
      signal: cutting.signal,
    });
    const events: StreamedEvent[] = [];
    const read = async () => {
      if (response.status === 204) return;
      let text = '';
      for await (const chunk of (response.body ?? new ReadableStream()).pipeThrough(
        new TextDecoderStream(),
      )) {
        text += chunk;
        const whole = text.slice(0, text.lastIndexOf('\n\n') + 2);
        text = text.slice(whole.length);
        for (const [, id, kind, json] of whole.matchAll(/^id: (\d+)\nevent: (\S+)\ndata: (.*)\n/gm)) {
          const { data } = JSON.parse(json ?? '') as Pick<StreamedEvent, 'data'>;
          events.push({ id: Number(id), kind: kind ?? '', data });
        }
      }
    };
    return { events, ended: read().catch(() => {}), cut: () => cutting.abort() };
  }

  const start = async (agent: string, url = service.url): Promise<string> => {
    const body = { agent, input: 'Pay Acme.' };
    const { body: started } = await call<{ run: { id: string } }>(url, 'POST', '/v1/runs', {
      key: KEYS.admin,
      body,
    });
    return started.run.id;
  };

  const parked = (run: string) =>
    until(
      async () => {
        const rows = await runStatement(
          databaseUrl,
          `select id from runs where id = '${run}' and parked_at is not null`,
        );
        return rows.length > 0;
      },
      { what: 'parked' },
    );

  async function approveOf(run: string): Promise<void> {
    const path = `/v1/runs/${run}`;
    const { body } = await call<RunJson>(service.url, 'GET', path, { key: KEYS.admin });
    const id = body.invocations[0]?.confirmation ?? '';
    const { argsDigest } = await read(service.url, id);
    const vote = { verdict: 'approve', argsDigest };
    await call(service.url, 'POST', `/v1/confirmations/${id}/votes`, { key: KEYS.liWei, body: vote });
  }

  it.each<[string, string, readonly Turn[], readonly string[]]>([
    [
      'that a model works through',
      'buyer',
      [{ calls: [PAY] }, { text: 'Paid.' }],
      [
        'run.started',
        'tool.called',
        'run.waiting',
        'confirmation.decided',
        'tool.finished',
        'model.delta',
        'run.finished',
      ],
    ],
    [
      'whose plan a model made',
      'planner',
      [{ calls: [{ id: 'p', name: 'propose_plan', arguments: PLAN }] }],
      ['run.started', 'tool.called', 'run.waiting', 'confirmation.decided', 'tool.finished', 'run.finished'],
    ],
  ])(
    'come once each and in order, of a run %s, parked over a restart of the service',
    async (_which, agent, turns, kinds) => {
      model.script(agent, turns);
      const run = await start(agent);
      const before = await follow(run, null);
      await until(() => before.events.at(-1)?.kind === 'run.waiting', { what: 'the wait is told' });
      await parked(run);
      // A client whose connection broke asks again, and one that saw nothing since hears only what is new.
      before.cut();
      const seen = before.events.at(-1)?.id ?? 0;
      const again = await follow(run, seen);
      const fromTheMiddle = await follow(run, 1);
      await until(() => fromTheMiddle.events.length === seen - 1, { what: 'what was missed' });
      // The service goes: the streams end, and are no end of the run.
      await service.stop();
      await Promise.all([again.ended, fromTheMiddle.ended]);
      expect(again.events).toEqual([]);

      await begin();
      const after = await follow(run, seen);
      await approveOf(run);
      await after.ended;
      const all = [...before.events, ...after.events];
      expect(all.map(({ kind }) => kind)).toEqual(kinds);
      expect(all.map(({ id }) => id)).toEqual(kinds.map((_, index) => index + 1));
      // It is over: the whole is there for who asks from the start, and nothing for who has it all.
      const whole = await follow(run, null);
      await whole.ended;
      expect(whole.events).toEqual(all);
      const nothing = await follow(run, all.length);
      await nothing.ended;
      expect(nothing.events).toEqual([]);
      expect(tools.callsTo('/payments').length).toBeGreaterThan(0);
    },
    60_000,
  );

  const told = ({ events }: Pick<Stream, 'events'>) =>
    rebuilt(events.filter(({ kind }) => kind === 'model.delta').map(({ data }) => data));

  it('bring what the model says while it speaks, also to a client whose connection broke', async () => {
    const { turn, stream } = liveTurn();
    model.script('buyer', [turn]);
    const run = await start('buyer');
    const speaking = await stream;
    const before = await follow(run, null);
    speaking.send(words('Nothing '));
    await until(() => told(before).get(1) === 'Nothing ', { what: 'the first words' });
    before.cut();
    speaking.send(words('was paid.'));
    const after = await follow(run, before.events.at(-1)?.id ?? 0);
    await until(() => after.events.length > 0, { what: 'the next words' });
    speaking.send(finish('stop'));
    speaking.end();
    await after.ended;
    const all = [...before.events, ...after.events];
    expect(told({ ...after, events: all })).toEqual(new Map([[1, 'Nothing was paid.']]));
    expect(all.at(-1)).toMatchObject({ kind: 'run.finished', data: { output: 'Nothing was paid.' } });
  });

  // The answer that a process is killed in holds a call that looks whole; only its end is missing.
  it.each<[string, readonly Turn[], readonly StreamPart[], readonly Turn[]]>([
    [
      'its first answer',
      [],
      [words('I pay Acme.'), PAYING],
      [{ stream: [words('I will pay.'), PAYING, finish('tool_calls')] }, { text: 'Paid.' }],
    ],
    [
      'the answer behind its payment',
      [{ stream: [words('I will pay.'), PAYING, finish('tool_calls')] }],
      [words('I pay again.'), PAYING],
      [{ text: 'Paid.' }],
    ],
  ])(
    'tell of one payment where the process is killed in the middle of %s, and another one takes over',
    async (_which, before, killedIn, after) => {
      const { turn, stream } = liveTurn();
      model.script('buyer', [...before, turn, ...after]);
      const [asked, paid] = [model.requestsOf('buyer').length, tools.callsTo('/payments').length];
      const victim = await startServiceProcess(yaml({ parkAfter: '1h' }));
      const run = await start('buyer', victim.url);
      const first = await follow(run, null, victim.url);
      const waits = async (reader: Stream) => {
        await until(() => reader.events.at(-1)?.kind === 'run.waiting', { what: 'the wait is told' });
        await approveOf(run);
      };
      if (before.length > 0) await waits(first);
      const speaking = await stream;
      for (const part of killedIn) speaking.send(part);
      const dying = before.length + 1;
      await until(() => (told(first).get(dying)?.length ?? 0) > 0, { what: 'the words that will be void' });
      await victim.kill();
      await Promise.all([first.ended, speaking.closed]);
      // As if the lease of the dead process had lapsed.
      await runStatement(
        databaseUrl,
        `delete from run_workers where owner in
        (select lease_owner from runs where id = '${run}')`,
      );
      const rest = await follow(run, first.events.at(-1)?.id ?? 0);
      if (before.length === 0) await waits(rest);
      await rest.ended;

      const events = [...first.events, ...rest.events];
      expect(events.map(({ id }) => id)).toEqual(events.map((_, index) => index + 1));
      expect(told({ events })).toEqual(
        new Map([
          [1, 'I will pay.'],
          [2, 'Paid.'],
        ]),
      );
      expect(events.at(-1)).toMatchObject({ kind: 'run.finished', data: { output: 'Paid.' } });
      expect(events.filter(({ kind }) => kind === 'tool.called').length).toBe(1);
      const gated = await runStatement<{ execution_status: string }>(
        databaseUrl,
        `select execution_status from confirmations where run_id = '${run}'`,
      );
      expect(gated).toEqual([{ execution_status: 'succeeded' }]);
      expect(tools.callsTo('/payments').length - paid).toBe(1);
      // What was answered and on record is not asked again: the answer that broke off is, once.
      expect(model.requestsOf('buyer').length - asked).toBe(3);
    },
    60_000,
  );
});
