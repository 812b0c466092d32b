import { describe, expect, it } from 'vitest';
import { dispatchOver, preHook, SampleGate } from './sample-hooks.ts';

const never = () => new Promise<never>(() => {});
/** Lets everything that is ready to run, run. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('the time that hooks have', () => {
  it('ends by denying where the hook says so, tells the hook, and leaves no timer', async () => {
    let told: unknown = null;
    const { run, clock, failures } = dispatchOver([
      preHook({
        name: 'slow',
        timeoutMs: 300,
        execute: (_context, signal) => {
          signal.addEventListener('abort', () => {
            told = signal.reason;
          });
          return never();
        },
      }),
    ]);
    const outcome = run();
    await settle();
    clock.advance(299);
    await settle();
    expect(failures).toEqual([]);
    clock.advance(1);
    expect(await outcome).toMatchObject({
      kind: 'denied',
      code: 'denied_by_hook',
      failure: true,
      hookName: 'slow',
    });
    expect(failures).toMatchObject([{ hook: 'slow', reason: 'timed_out' }]);
    expect(told).toMatchObject({ name: 'TimeoutError' });
    expect(clock.pendingTimers).toBe(0);
  });

  it('is each hook’s own: the timer of one is not the end of the next', async () => {
    const { run, clock, failures } = dispatchOver([
      preHook({
        name: 'first',
        priority: 1,
        timeoutMs: 300,
        execute: (_context, _signal) => until(clock200),
      }),
      preHook({ name: 'second', priority: 2, timeoutMs: 300, onError: 'continue', execute: never }),
    ]);
    let finishFirst = () => {};
    const clock200 = new Promise<void>((resolve) => {
      finishFirst = resolve;
    });
    const outcome = run();
    await settle();
    clock.advance(200);
    finishFirst();
    await settle();
    clock.advance(200);
    await settle();
    expect(failures).toEqual([]);
    clock.advance(100);
    expect(await outcome).toMatchObject({ kind: 'allowed' });
    expect(failures).toMatchObject([{ hook: 'second', reason: 'timed_out' }]);
    expect(clock.pendingTimers).toBe(0);

    async function until(moment: Promise<void>) {
      await moment;
      return { allow: true };
    }
  });

  it('covers a shorter hook behind a longer one', async () => {
    const { run, clock, failures } = dispatchOver([
      preHook({ name: 'long', priority: 1, timeoutMs: 5_000, execute: async () => ({ allow: true }) }),
      preHook({ name: 'short', priority: 2, timeoutMs: 50, execute: never }),
    ]);
    const outcome = run();
    await settle();
    clock.advance(50);
    expect(await outcome).toMatchObject({ kind: 'denied', hookName: 'short' });
    expect(failures).toHaveLength(1);
  });

  it('covers shouldTrigger, and a hook that wakes up late does not begin its work', async () => {
    let wake = (_triggers: boolean) => {};
    let worked = false;
    const { run, clock } = dispatchOver([
      preHook({
        name: 'slow',
        timeoutMs: 100,
        onError: 'continue',
        shouldTrigger: () =>
          new Promise<boolean>((resolve) => {
            wake = resolve;
          }),
        execute: () => {
          worked = true;
          return { allow: false, error: 'No.' };
        },
      }),
    ]);
    const outcome = run();
    await settle();
    clock.advance(100);
    expect(await outcome).toMatchObject({ kind: 'allowed' });
    wake(true);
    await settle();
    expect(worked).toBe(false);
  });

  it.each([
    ['a late yes', (hook: Late) => hook.resolve({ allow: true })],
    ['a late rejection', (hook: Late) => hook.reject(new Error('late'))],
  ])('once over, makes %s change nothing and crash nothing', async (_what, act) => {
    const unhandled: unknown[] = [];
    const listen = (reason: unknown) => unhandled.push(reason);
    process.on('unhandledRejection', listen);
    const late: Late = { resolve: () => {}, reject: () => {} };
    const { run, clock, failures, gate } = dispatchOver(
      [
        preHook({
          name: 'slow',
          timeoutMs: 100,
          execute: () =>
            new Promise((resolve, reject) => {
              late.resolve = resolve;
              late.reject = reject;
            }),
        }),
      ],
      { gate: new SampleGate() },
    );
    const outcome = run();
    await settle();
    clock.advance(100);
    const denied = await outcome;
    act(late);
    await settle();
    await settle();
    process.off('unhandledRejection', listen);
    expect(denied).toMatchObject({ kind: 'denied', failure: true });
    expect(failures).toHaveLength(1);
    expect(gate.seen).toEqual([]);
    expect(unhandled).toEqual([]);
  });

  it('still bounds the next hook when the late answer of the one before comes in', async () => {
    const late: Late = { resolve: () => {}, reject: () => {} };
    const { run, clock, failures } = dispatchOver([
      preHook({
        name: 'late',
        priority: 1,
        timeoutMs: 100,
        onError: 'continue',
        execute: () =>
          new Promise((resolve) => {
            late.resolve = resolve;
          }),
      }),
      preHook({ name: 'hanging', priority: 2, timeoutMs: 100, execute: never }),
    ]);
    const outcome = run();
    await settle();
    clock.advance(100);
    await settle();
    late.resolve({ allow: true });
    await settle();
    clock.advance(100);
    expect(await outcome).toMatchObject({ kind: 'denied', hookName: 'hanging' });
    expect(failures.map(({ hook }) => hook)).toEqual(['late', 'hanging']);
  });

  it('denies a gate that hangs as gate_unavailable', async () => {
    const { run, clock } = dispatchOver([], { gate: new SampleGate(never) });
    const outcome = run();
    await settle();
    clock.advance(60_000);
    expect(await outcome).toMatchObject({ kind: 'denied', code: 'gate_unavailable', failure: true });
  });
});

describe('a cancelled run', () => {
  it('tells the hook that runs, asks no further one, and is denied as cancelled', async () => {
    let aborted = false;
    const { run, cancel, gate, failures, clock } = dispatchOver([
      preHook({
        name: 'a',
        onError: 'continue',
        execute: (_context, signal) => {
          signal.addEventListener('abort', () => {
            aborted = true;
          });
          return never();
        },
      }),
    ]);
    const outcome = run();
    await settle();
    cancel.abort(new Error('stopped'));
    expect(await outcome).toMatchObject({ kind: 'denied', code: 'cancelled', failure: false });
    expect(aborted).toBe(true);
    expect(gate.seen).toEqual([]);
    expect(failures).toEqual([]);
    expect(clock.pendingTimers).toBe(0);
  });

  it('asks nobody where it was cancelled before', async () => {
    const { run, cancel, gate } = dispatchOver([]);
    cancel.abort();
    expect(await run()).toMatchObject({ kind: 'denied', code: 'cancelled' });
    expect(gate.seen).toEqual([]);
  });

  it('is noticed where a hook cancels it itself', async () => {
    const { run, cancel } = dispatchOver([
      preHook({
        name: 'a',
        execute: () => {
          cancel.abort();
          return never();
        },
      }),
    ]);
    expect(await run()).toMatchObject({ kind: 'denied', code: 'cancelled' });
  });
});

interface Late {
  resolve: (value: unknown) => void;
  reject: (reason: unknown) => void;
}
