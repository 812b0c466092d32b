import pino from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import {
  ConnectionSupervisor,
  type Link,
  type LinkEnd,
  type OpenedLink,
} from '../../src/channel/connection-supervisor.ts';
import { ManualClock } from '../support/manual-clock.ts';

/** Lets promises that are due settle; nothing here waits for anything but the clock. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

class ScriptedLink implements Link {
  readonly over: Promise<LinkEnd>;
  end: (end: LinkEnd) => void = () => {};
  closes = 0;

  constructor() {
    this.over = new Promise((resolve) => {
      this.end = resolve;
    });
  }

  async close(): Promise<void> {
    this.closes += 1;
  }
}

const LOST: LinkEnd = { reason: 'lost', stillCarries: false };
const RELIEVED: LinkEnd = { reason: 'refresh', stillCarries: true };
const refused = (retryAfterMs: number | null = null): OpenedLink => ({
  kind: 'failed',
  reason: 'invalid_auth',
  retryAfterMs,
});

/** A supervisor whose attempts the test answers one by one. */
function supervise(size = 1, random = () => 0) {
  const clock = new ManualClock();
  const attempts: {
    readonly signal: AbortSignal;
    answer(opened: OpenedLink): void;
    fail(error: Error): void;
  }[] = [];
  const lines: string[] = [];
  const supervisor = new ConnectionSupervisor({
    size,
    clock,
    random,
    logger: pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) }),
    open: (signal) =>
      new Promise((answer, fail) => {
        attempts.push({ signal, answer, fail });
        signal.addEventListener('abort', () => fail(new Error('ticket=secret')), { once: true });
      }),
  });
  supervisor.start();
  const answer = async (opened: OpenedLink) => {
    attempts.at(-1)?.answer(opened);
    await settle();
  };
  const connect = async () => {
    const link = new ScriptedLink();
    await answer({ kind: 'open', link });
    return link;
  };
  const pass = async (ms: number) => {
    clock.advance(ms);
    await settle();
  };
  return { supervisor, clock, attempts, lines, answer, connect, pass };
}
type Supervised = ReturnType<typeof supervise>;

let running: Supervised;
const start = (...input: Parameters<typeof supervise>): Supervised => {
  running = supervise(...input);
  return running;
};
afterEach(async () => {
  await running.supervisor.stop();
  expect(running.supervisor.status().open).toBe(0);
  expect(running.clock.pendingTimers).toBe(0);
});

describe('connections under supervision', () => {
  it('are opened all at once, and counted', async () => {
    const { supervisor, attempts } = start(3);
    expect(attempts).toHaveLength(3);
    expect(supervisor.status()).toMatchObject({ wanted: 3, open: 0, reconnects: 0 });
    for (const attempt of attempts) attempt.answer({ kind: 'open', link: new ScriptedLink() });
    await settle();
    expect(supervisor.status()).toEqual({
      wanted: 3,
      open: 3,
      reconnects: 0,
      detail: '3 of 3 connections',
    });
  });

  it('that are refused are tried again for ever, after 1 s, 2 s, and so on up to a minute', async () => {
    const { supervisor, attempts, answer, pass } = start();
    for (const seconds of [1, 2, 4, 8, 16, 32, 60, 60, ...Array<number>(100).fill(60)]) {
      const before = attempts.length;
      await answer(refused());
      await pass(seconds * 1000 - 1);
      expect(attempts).toHaveLength(before);
      await pass(1);
      expect(attempts).toHaveLength(before + 1);
    }
    expect(supervisor.status().detail).toBe('0 of 1 connections (invalid_auth)');
  });

  it('take up to half of a wait off by chance', async () => {
    const { attempts, answer, pass } = start(1, () => 0.999);
    await answer(refused());
    await pass(499);
    expect(attempts).toHaveLength(1);
    await pass(2);
    expect(attempts).toHaveLength(2);
  });

  it.each([
    [7_000, 7_000],
    [86_400_000, 300_000],
  ])(
    'wait as long as the platform asks, %d ms, but never longer than five minutes',
    async (asked, waited) => {
      const { attempts, answer, pass } = start();
      await answer(refused(asked));
      await pass(waited - 1);
      expect(attempts).toHaveLength(1);
      await pass(1);
      expect(attempts).toHaveLength(2);
    },
  );

  it('survive an opening that throws, and tell nobody what it threw', async () => {
    const { supervisor, attempts, lines, pass } = start();
    attempts[0]?.fail(new Error('wss://host/?ticket=secret'));
    await settle();
    expect(supervisor.status().detail).toBe('0 of 1 connections (opening it failed)');
    await pass(1_000);
    expect(attempts).toHaveLength(2);
    expect(lines.join()).not.toContain('secret');
  });

  it('give up an opening that never ends, after 20 s', async () => {
    const { supervisor, attempts, pass } = start();
    await pass(20_000);
    expect(attempts[0]?.signal.aborted).toBe(true);
    expect(supervisor.status().detail).toBe('0 of 1 connections (the platform takes too long)');
    await pass(1_000);
    expect(attempts).toHaveLength(2);
  });

  it('that lived are replaced at once; those that die young ever more slowly', async () => {
    const { supervisor, attempts, connect, pass } = start();
    const good = await connect();
    await pass(30_000);
    good.end(LOST);
    await settle();
    expect(good.closes).toBe(1);
    expect(supervisor.status()).toMatchObject({ open: 0, detail: '0 of 1 connections (lost)' });
    await pass(0);
    expect(attempts).toHaveLength(2);
    for (const seconds of [1, 2, 4]) {
      (await connect()).end(LOST);
      await settle();
      const before = attempts.length;
      await pass(seconds * 1000 - 1);
      expect(attempts).toHaveLength(before);
      await pass(1);
      expect(attempts).toHaveLength(before + 1);
    }
    expect(supervisor.status().reconnects).toBe(3);
  });

  it('that the platform wants replaced stay until the next one stands, and 15 s longer', async () => {
    const { supervisor, attempts, answer, connect, pass } = start();
    const old = await connect();
    await pass(60_000);
    old.end(RELIEVED);
    await settle();
    await pass(0);
    await answer(refused());
    await pass(1_000);
    expect(old.closes).toBe(0);
    expect(attempts).toHaveLength(3);
    const next = await connect();
    expect(supervisor.status().open).toBe(1);
    await pass(14_999);
    expect(old.closes).toBe(0);
    await pass(1);
    expect(old.closes).toBe(1);
    expect(next.closes).toBe(0);
  });

  it('are all closed by a stop: the one that stands, the one relieved, the one that lingers', async () => {
    const { supervisor, connect, pass } = start();
    const lingers = await connect();
    await pass(60_000);
    lingers.end(RELIEVED);
    await settle();
    await pass(0);
    const relieved = await connect();
    await pass(1_000);
    relieved.end(RELIEVED);
    await settle();
    await supervisor.stop();
    expect([lingers.closes, relieved.closes]).toEqual([1, 1]);
  });

  it('are not opened any more by a stop that comes while one waits, or while one is being opened', async () => {
    const waiting = start();
    await waiting.answer(refused());
    await waiting.supervisor.stop();
    await waiting.pass(600_000);
    expect(waiting.attempts).toHaveLength(1);

    const opening = start();
    const stopped = opening.supervisor.stop();
    expect(opening.attempts[0]?.signal.aborted).toBe(true);
    await stopped;
  });

  it('that open just as everything stops are closed again', async () => {
    const { supervisor, attempts } = start();
    const late = new ScriptedLink();
    attempts[0]?.answer({ kind: 'open', link: late });
    await supervisor.stop();
    expect(late.closes).toBe(1);
  });

  it('end in order although one of them cannot be closed', async () => {
    const { supervisor, answer, lines } = start();
    const link = new ScriptedLink();
    await answer({
      kind: 'open',
      link: { over: link.over, close: () => Promise.reject(new Error('stuck')) },
    });
    await supervisor.stop();
    expect(lines.join()).toContain('could not be closed in order');
  });
});
