import { describe, expect, it } from 'vitest';
import { dispatchPostToolUse } from '../../src/hook/dispatch-post-tool-use.ts';
import { dispatchSessionStart } from '../../src/hook/dispatch-session-start.ts';
import { dispatchToolSettled } from '../../src/hook/dispatch-tool-settled.ts';
import type { HookFailure } from '../../src/hook/hook-failure.ts';
import { HookRegistry } from '../../src/hook/hook-registry.ts';
import type { RegistrableHook } from '../../src/hook/registered-hook.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { CONTEXT, observer, postHook, SampleGate, SESSION, SETTLED, startHook } from './sample-hooks.ts';

const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

function around(hooks: readonly RegistrableHook[]) {
  const failures: HookFailure[] = [];
  const clock = new ManualClock();
  const cancel = new AbortController();
  const onHookFailed = (failure: HookFailure) => {
    failures.push(failure);
  };
  const registry = new HookRegistry({ hooks, gate: new SampleGate() });
  const shared = { registry, clock, onHookFailed };
  return {
    failures,
    clock,
    cancel,
    post: (toolResult = 'real') =>
      dispatchPostToolUse({ ...shared, signal: cancel.signal, context: { ...CONTEXT, toolResult } }),
    start: () => dispatchSessionStart({ ...shared, signal: cancel.signal, context: SESSION }),
    settled: () => dispatchToolSettled({ ...shared, context: SETTLED }),
  };
}

const fail = () => {
  throw new Error('secret-token');
};

describe('the hooks after a call', () => {
  it('change what the model sees, one on what the other left', async () => {
    const { post } = around([
      postHook({
        name: 'b',
        priority: 2,
        execute: ({ toolResult }) => ({ modifiedResult: `${toolResult}!` }),
      }),
      postHook({
        name: 'a',
        priority: 1,
        execute: ({ toolResult }) => ({ modifiedResult: toolResult.toUpperCase(), sideEffects: ['raised'] }),
      }),
      postHook({ name: 'c', priority: 3, execute: () => ({}) }),
    ]);
    expect(await post()).toEqual({ view: 'REAL!', sideEffects: [{ hook: 'a', text: 'raised' }] });
  });

  it('show the real result where there are none', async () => {
    expect(await around([]).post()).toEqual({ view: 'real', sideEffects: [] });
  });

  it('withhold the view in a plain sentence where one fails that denies', async () => {
    const { post, failures } = around([postHook({ name: 'a', execute: fail })]);
    const { view } = await post('the real thing');
    expect(view).toMatch(/The tool ran .* withheld .* Do not call the tool again/);
    expect(view).not.toMatch(/the real thing|secret-token/);
    expect(failures).toMatchObject([{ hook: 'a', point: 'PostToolUse', reason: 'threw' }]);
  });

  it('go on without one that fails and may', async () => {
    const { post, failures } = around([
      postHook({ name: 'a', priority: 1, onError: 'continue', execute: () => ({ modifiedResult: 7 }) }),
      postHook({
        name: 'b',
        priority: 2,
        execute: ({ toolResult }) => ({ modifiedResult: `${toolResult}?` }),
      }),
    ]);
    expect(await post()).toMatchObject({ view: 'real?' });
    expect(failures).toMatchObject([{ hook: 'a', reason: 'bad_result' }]);
  });

  it('withhold the view of a cancelled run', async () => {
    const { post, cancel } = around([postHook({ name: 'a', execute: () => new Promise(() => {}) })]);
    const outcome = post();
    await settle();
    cancel.abort();
    expect((await outcome).view).toMatch(/withheld/);
  });
});

describe('the hooks at the start of a session', () => {
  it('add their texts in order', async () => {
    const { start } = around([
      startHook({ name: 'a', execute: () => ({ context: 'one', sideEffects: ['said one'] }) }),
      startHook({ name: 'b', execute: () => ({}) }),
      startHook({ name: 'c', execute: () => ({ context: 'two' }) }),
    ]);
    expect(await start()).toEqual({
      context: ['one', 'two'],
      sideEffects: [{ hook: 'a', text: 'said one' }],
    });
  });

  it('keep the session from starting where one fails that denies', async () => {
    const { start, failures } = around([startHook({ name: 'a', execute: fail })]);
    await expect(start()).rejects.toMatchObject({ name: 'CountersignError', code: 'denied_by_hook' });
    await expect(start()).rejects.not.toThrow(/secret-token/);
    expect(failures[0]).toMatchObject({ hook: 'a', point: 'SessionStart' });
  });

  it('are passed over where they may fail', async () => {
    const { start } = around([
      startHook({ name: 'a', onError: 'continue', execute: fail }),
      startHook({ name: 'b', execute: () => ({ context: 'two' }) }),
    ]);
    expect(await start()).toMatchObject({ context: ['two'] });
  });

  it('end with the reason of a cancelled run', async () => {
    const { start, cancel } = around([startHook({ name: 'a', execute: () => new Promise(() => {}) })]);
    const outcome = start();
    await settle();
    cancel.abort(new Error('stopped'));
    await expect(outcome).rejects.toThrow('stopped');
  });
});

describe('the observers of a settled call', () => {
  it('see it side by side: one that fails or hangs takes nothing from the others', async () => {
    const seen: string[] = [];
    const { settled, failures, clock } = around([
      observer({ name: 'throws', execute: fail }),
      observer({ name: 'hangs', execute: () => new Promise(() => {}) }),
      observer({ name: 'answers-nonsense', execute: () => 42 }),
      observer({
        name: 'sees',
        execute: ({ settlement }) => {
          seen.push(settlement.status);
          return { sideEffects: ['seen'] };
        },
      }),
    ]);
    const outcome = settled();
    await settle();
    expect(seen).toEqual(['succeeded']);
    clock.advance(5_000);
    expect(await outcome).toEqual({ sideEffects: [{ hook: 'sees', text: 'seen' }] });
    expect(failures.map(({ hook, reason }) => `${hook} ${reason}`).sort()).toEqual([
      'answers-nonsense bad_result',
      'hangs timed_out',
      'throws threw',
    ]);
    expect(clock.pendingTimers).toBe(0);
  });

  it('cannot change what the others see', async () => {
    const { settled, failures } = around([
      observer({
        name: 'a',
        execute: ({ settlement }) => {
          (settlement as { status: string }).status = 'failed';
        },
      }),
    ]);
    await settled();
    expect(failures).toMatchObject([{ hook: 'a', reason: 'threw' }]);
  });

  it('never fail the call they watch, not even where their failure cannot be recorded', async () => {
    const registry = new HookRegistry({
      hooks: [observer({ name: 'a', execute: fail })],
      gate: new SampleGate(),
    });
    const onHookFailed = () => Promise.reject(new Error('the record is down'));
    const clock = new ManualClock();
    expect(await dispatchToolSettled({ registry, context: SETTLED, clock, onHookFailed })).toEqual({
      sideEffects: [],
    });
    const context = undefined as unknown as typeof SETTLED;
    expect(await dispatchToolSettled({ registry, context, clock, onHookFailed })).toEqual({
      sideEffects: [],
    });
  });
});
