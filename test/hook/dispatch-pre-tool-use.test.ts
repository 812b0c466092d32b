import { describe, expect, it, vi } from 'vitest';
import type { HookContext } from '../../src/hook/hook-context.ts';
import type { JsonObject } from '../../src/json.ts';
import { CONTEXT, dispatchOver, preHook, SampleGate } from './sample-hooks.ts';

const allow = () => ({ allow: true });
const deny = () => ({ allow: false, error: 'No.' });
const rewrite = (changes: JsonObject) => (context: HookContext) => ({
  allow: true,
  modifiedArgs: { ...context.toolArgs, ...changes },
});

describe('the hooks before a call', () => {
  it('let it through with its arguments where nobody objects', async () => {
    const { run } = dispatchOver([preHook({ name: 'a', execute: allow })]);
    expect(await run()).toEqual({ kind: 'allowed', args: CONTEXT.toolArgs, sideEffects: [] });
  });

  it('stop at the first denial, which nothing behind it can undo', async () => {
    const later = vi.fn(allow);
    const { run, gate } = dispatchOver([
      preHook({
        name: 'a',
        priority: 1,
        execute: () => ({ ...deny(), code: 'rate_limited', retryAfter: 7 }),
      }),
      preHook({ name: 'b', priority: 2, execute: later }),
    ]);
    expect(await run()).toEqual({
      kind: 'denied',
      code: 'rate_limited',
      message: 'No.',
      retryAfter: 7,
      hookName: 'a',
      failure: false,
      confirmationId: null,
      sideEffects: [],
    });
    expect(later).not.toHaveBeenCalled();
    expect(gate.seen).toEqual([]);
  });

  it('say denied_by_hook where the hook names no code', async () => {
    const { run } = dispatchOver([preHook({ name: 'a', execute: () => deny() })]);
    expect(await run()).toMatchObject({ kind: 'denied', code: 'denied_by_hook', failure: false });
  });

  it('hand rewritten arguments to the next hook and to the gate, which is last whatever the priorities', async () => {
    const seen: JsonObject[] = [];
    const { run, gate } = dispatchOver([
      preHook({ name: 'late', priority: 1e9, execute: rewrite({ amount: '1000.00' }) }),
      preHook({
        name: 'early',
        priority: -5,
        execute: (context) => {
          seen.push(context.toolArgs);
          return rewrite({ account: 'B' })(context);
        },
      }),
      preHook({ name: 'silent', priority: 2e9, execute: allow }),
    ]);
    const expected = { ...CONTEXT.toolArgs, account: 'B', amount: '1000.00' };
    expect(await run()).toEqual({ kind: 'allowed', args: expected, sideEffects: [] });
    expect(seen).toEqual([CONTEXT.toolArgs]);
    expect(gate.seen.map(({ toolArgs }) => toolArgs)).toEqual([expected]);
  });

  it('keep a rewrite that a later hook, answering nothing, would have erased', async () => {
    const { run, failures } = dispatchOver([
      preHook({ name: 'a', priority: 1, execute: rewrite({ account: 'B' }) }),
      preHook({ name: 'b', priority: 2, onError: 'continue', execute: () => undefined }),
      preHook({ name: 'c', priority: 3, execute: () => ({ allow: true, modifiedArgs: undefined }) }),
    ]);
    expect(await run()).toMatchObject({ kind: 'allowed', args: { account: 'B' } });
    expect(failures).toMatchObject([{ hook: 'b', point: 'PreToolUse', reason: 'bad_result' }]);
  });

  it('run a frozen snapshot: what is done to any object afterwards reaches nothing', async () => {
    const given = { payee: 'Acme', nested: { amount: 1 } };
    const rewritten = { payee: 'Acme', nested: { amount: 2 } };
    const { run } = dispatchOver(
      [
        preHook({ name: 'a', priority: 1, execute: () => ({ allow: true, modifiedArgs: rewritten }) }),
        preHook({
          name: 'b',
          priority: 2,
          execute: () => {
            rewritten.nested.amount = 9_999;
            return { allow: true };
          },
        }),
      ],
      { context: { ...CONTEXT, toolArgs: given } },
    );
    const outcome = await run();
    given.nested.amount = 8_888;
    expect(outcome).toMatchObject({ kind: 'allowed', args: { nested: { amount: 2 } } });
    const args = outcome.kind === 'allowed' ? outcome.args : {};
    expect(Object.isFrozen(args) && Object.isFrozen(args.nested)).toBe(true);
  });

  it('give no hook a way to reach the facts that the gate decides by', async () => {
    const { run, gate, failures } = dispatchOver([
      preHook({
        name: 'disarming',
        onError: 'continue',
        execute: (context) => {
          (context.metadata as { requiresConfirmation: boolean }).requiresConfirmation = false;
          return { allow: true };
        },
      }),
    ]);
    await run();
    expect(failures).toMatchObject([{ hook: 'disarming', reason: 'threw' }]);
    expect(gate.seen[0]?.metadata.requiresConfirmation).toBe(true);
  });

  it('take a change to the arguments in place as a failure', async () => {
    const { run } = dispatchOver([
      preHook({
        name: 'a',
        execute: ({ toolArgs }) => {
          toolArgs.amount = '1';
          return { allow: true };
        },
      }),
    ]);
    expect(await run()).toMatchObject({ kind: 'denied', code: 'denied_by_hook', failure: true });
  });

  it('collect side effects in order, those of a denial too', async () => {
    const { run } = dispatchOver([
      preHook({ name: 'a', priority: 1, execute: () => ({ allow: true, sideEffects: ['one', 'two'] }) }),
      preHook({ name: 'b', priority: 2, execute: () => ({ ...deny(), sideEffects: ['three'] }) }),
    ]);
    expect((await run()).sideEffects).toEqual([
      { hook: 'a', text: 'one' },
      { hook: 'a', text: 'two' },
      { hook: 'b', text: 'three' },
    ]);
  });

  it('ask a hook nothing that does not trigger', async () => {
    const execute = vi.fn(deny);
    const { run } = dispatchOver([
      preHook({ name: 'a', shouldTrigger: () => false, execute }),
      preHook({ name: 'b', shouldTrigger: async () => false, execute }),
    ]);
    expect(await run()).toMatchObject({ kind: 'allowed' });
    expect(execute).not.toHaveBeenCalled();
  });

  it('skip the hooks that had finished before, and never the gate', async () => {
    const execute = vi.fn(deny);
    const { run, gate } = dispatchOver([preHook({ name: 'a', execute })], {
      skip: new Set(['a', 'confirmation-gate']),
    });
    expect(await run()).toMatchObject({ kind: 'allowed' });
    expect(execute).not.toHaveBeenCalled();
    expect(gate.seen).toHaveLength(1);
  });
});

describe('rewritten arguments', () => {
  const limited = (args: JsonObject) =>
    args.amount === '100.00'
      ? ({ ok: true } as const)
      : ({ ok: false, message: 'amount: over the limit' } as const);

  it('that the tool would refuse are a failure of the hook, and do not run', async () => {
    const { run, failures } = dispatchOver([preHook({ name: 'a', execute: rewrite({ amount: '1' }) })], {
      validateArgs: limited,
    });
    expect(await run()).toMatchObject({ kind: 'denied', code: 'denied_by_hook', failure: true });
    expect(failures).toEqual([
      { hook: 'a', point: 'PreToolUse', reason: 'invalid_arguments', detail: 'amount: over the limit' },
    ]);
  });

  it('that the tool would refuse leave the earlier ones where the hook may fail', async () => {
    const { run } = dispatchOver(
      [
        preHook({ name: 'a', priority: 1, execute: rewrite({ account: 'B' }) }),
        preHook({ name: 'b', priority: 2, onError: 'continue', execute: rewrite({ amount: '1' }) }),
      ],
      { validateArgs: limited },
    );
    expect(await run()).toMatchObject({
      kind: 'allowed',
      args: { ...CONTEXT.toolArgs, account: 'B' },
    });
  });

  it.each([
    ['undefined in them', { a: undefined }],
    ['a function in them', { a: () => 1 }],
    ['an instance of a class', { a: new Date(0) }],
    ['a number that is not finite', { a: Number.NaN }],
    ['a cycle', cyclic()],
    [
      'a getter that throws',
      {
        get a(): string {
          throw new Error('boom');
        },
      },
    ],
    ['an array instead', ['x']],
  ])('with %s are a failure', async (_what, modifiedArgs) => {
    const { run, failures } = dispatchOver([
      preHook({ name: 'a', execute: () => ({ allow: true, modifiedArgs }) }),
    ]);
    expect(await run()).toMatchObject({ kind: 'denied', failure: true });
    expect(failures).toMatchObject([{ reason: 'bad_result' }]);
  });

  it('are checked by a check that may itself fail, which is no yes', async () => {
    const { run, failures } = dispatchOver([preHook({ name: 'a', execute: rewrite({ amount: '1' }) })], {
      validateArgs: () => {
        throw new Error('schema is gone');
      },
    });
    expect(await run()).toMatchObject({ kind: 'denied', failure: true });
    expect(failures).toMatchObject([{ reason: 'invalid_arguments', detail: 'Error: schema is gone' }]);
  });

  it('are read once: a getter cannot show the check one value and run another', async () => {
    let reads = 0;
    const { run } = dispatchOver(
      [
        preHook({
          name: 'a',
          execute: () => ({
            allow: true,
            modifiedArgs: {
              get amount() {
                reads += 1;
                return reads === 1 ? '100.00' : '9999.00';
              },
            },
          }),
        }),
      ],
      { validateArgs: limited },
    );
    expect(await run()).toMatchObject({ kind: 'allowed', args: { amount: '100.00' } });
  });

  it('keep a key named __proto__ as a key', async () => {
    const modifiedArgs = JSON.parse('{"__proto__": {"admin": true}}') as JsonObject;
    const { run } = dispatchOver([preHook({ name: 'a', execute: () => ({ allow: true, modifiedArgs }) })]);
    const outcome = await run();
    const args = outcome.kind === 'allowed' ? outcome.args : {};
    expect(JSON.stringify(args)).toBe('{"__proto__":{"admin":true}}');
    expect(Object.getPrototypeOf(args)).toBe(Object.prototype);
  });
});

describe('the gate', () => {
  it.each([
    ['pending', { allow: 'pending', confirmationId: 'c-1' }, { kind: 'pending', confirmationId: 'c-1' }],
    ['stubbed', { allow: 'stubbed' }, { kind: 'stubbed' }],
    [
      'a denial with the request that it stored',
      { allow: false, error: 'Nobody could be asked.', code: 'undeliverable', confirmationId: 'c-2' },
      { kind: 'denied', code: 'undeliverable', confirmationId: 'c-2', failure: false },
    ],
  ])('may answer %s', async (_what, answer, expected) => {
    const { run } = dispatchOver([preHook({ name: 'a', execute: rewrite({ account: 'B' }) })], {
      gate: new SampleGate(() => answer),
    });
    const outcome = await run();
    expect(outcome).toMatchObject(expected);
    if (outcome.kind !== 'denied') expect(outcome.args).toEqual({ ...CONTEXT.toolArgs, account: 'B' });
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('database is down: postgres://user:secret@db');
      },
    ],
    ['rejects', () => Promise.reject(new Error('no'))],
    ['answers nothing', () => undefined],
    ['answers true', () => true],
    ['answers in another form', () => ({ allow: 'yes' })],
    ['answers pending without a request', () => ({ allow: 'pending' })],
    ['rewrites what it should judge', () => ({ allow: true, modifiedArgs: {} })],
  ])('that %s denies as gate_unavailable, in words that hold no secret', async (_what, answer) => {
    const { run, failures } = dispatchOver([], { gate: new SampleGate(answer) });
    const outcome = await run();
    expect(outcome).toMatchObject({ kind: 'denied', code: 'gate_unavailable', failure: true });
    expect(JSON.stringify(outcome)).not.toMatch(/secret|Error|postgres/);
    expect(failures).toMatchObject([{ hook: 'confirmation-gate' }]);
  });

  it('sees every call, whatever it says about triggering', async () => {
    const gate = new SampleGate(() => ({ allow: false, error: 'No.' }));
    gate.shouldTrigger = () => false;
    expect(await dispatchOver([], { gate }).run()).toMatchObject({ kind: 'denied' });
  });

  it('stays the one that was registered, whatever is done to the object', async () => {
    const gate = new SampleGate(() => ({ allow: false, error: 'No.' }));
    const { run } = dispatchOver([], { gate });
    gate.execute = async () => ({ allow: true });
    expect(await run()).toMatchObject({ kind: 'denied' });
  });

  it.each(['pending', 'stubbed'])('is the only one that may answer %s', async (word) => {
    const answer = { allow: word, ...(word === 'pending' ? { confirmationId: 'c-1' } : {}) };
    const denying = dispatchOver([preHook({ name: 'a', execute: () => answer })]);
    expect(await denying.run()).toMatchObject({ kind: 'denied', code: 'denied_by_hook', failure: true });
    const going = dispatchOver([preHook({ name: 'a', onError: 'continue', execute: () => answer })]);
    expect(await going.run()).toMatchObject({ kind: 'allowed' });
    expect(going.failures).toMatchObject([{ reason: 'bad_result' }]);
  });
});

describe('a hook that fails', () => {
  const failing: readonly [string, unknown, (context: HookContext) => unknown][] = [
    [
      'throws',
      'threw',
      () => {
        throw new Error('at /srv/app.ts:12 secret-token');
      },
    ],
    ['rejects', 'threw', () => Promise.reject(new Error('secret-token'))],
    [
      'throws something that is no error',
      'threw',
      () => {
        throw 'secret-token';
      },
    ],
    [
      'throws nothing',
      'threw',
      () => {
        throw undefined;
      },
    ],
    [
      'throws what cannot be shown',
      'threw',
      () => {
        throw {
          toString() {
            throw new Error('no');
          },
        };
      },
    ],
    ['answers undefined', 'bad_result', () => undefined],
    ['answers null', 'bad_result', () => null],
    ['answers true', 'bad_result', () => true],
    ['answers with a member too many', 'bad_result', () => ({ allow: true, approvedBy: 'me' })],
    ['answers with a truthy word', 'bad_result', () => ({ allow: 'true' })],
    ['answers with a proxy that throws', 'bad_result', () => new Proxy({ allow: true }, hostileHandler)],
    [
      'answers with a getter that throws',
      'bad_result',
      () => ({
        get allow() {
          throw new Error('secret-token');
        },
      }),
    ],
    ['answers with a thenable that rejects', 'threw', () => rejectingThenable()],
  ];

  it.each(failing)('because it %s denies where it says so', async (_what, reason, execute) => {
    const { run, failures, gate } = dispatchOver([preHook({ name: 'a', execute })]);
    const outcome = await run();
    expect(outcome).toMatchObject({ kind: 'denied', code: 'denied_by_hook', failure: true, hookName: 'a' });
    expect(JSON.stringify(outcome)).not.toMatch(/secret-token|\.ts:/);
    expect(failures).toMatchObject([{ hook: 'a', point: 'PreToolUse', reason }]);
    expect(gate.seen).toEqual([]);
  });

  it.each(failing)(
    'because it %s is passed over where it says so, on the record',
    async (_what, reason, execute) => {
      const { run, failures, gate } = dispatchOver([preHook({ name: 'a', onError: 'continue', execute })]);
      expect(await run()).toMatchObject({ kind: 'allowed', args: CONTEXT.toolArgs });
      expect(failures).toMatchObject([{ hook: 'a', reason }]);
      expect(gate.seen).toHaveLength(1);
    },
  );

  it('by refusing in words that are no result still refuses', async () => {
    const { run } = dispatchOver([
      preHook({ name: 'a', onError: 'continue', execute: () => ({ allow: false, reason: 'misspelt' }) }),
    ]);
    expect(await run()).toMatchObject({ kind: 'denied', failure: true });
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('no');
      },
      'threw',
    ],
    ['rejects', () => Promise.reject(new Error('no')), 'threw'],
    ['answers nothing', () => undefined, 'bad_result'],
    ['answers with a word', async () => 'yes', 'bad_result'],
  ])('because its shouldTrigger %s counts the same', async (what, shouldTrigger, reason) => {
    const execute = vi.fn(allow);
    // The sample turns undefined into true, so the method itself is replaced.
    const hook = preHook({ name: 'a', execute });
    hook.shouldTrigger = shouldTrigger as unknown as () => boolean;
    const { run, failures } = dispatchOver([hook]);
    expect(await run(), what).toMatchObject({ kind: 'denied', failure: true });
    expect(failures).toMatchObject([{ reason }]);
    expect(execute).not.toHaveBeenCalled();
  });

  it('before it has even made a promise counts the same', async () => {
    const hook = preHook({ name: 'a', execute: allow });
    hook.execute = () => {
      throw new Error('no');
    };
    const { run, failures } = dispatchOver([hook]);
    expect(await run()).toMatchObject({ kind: 'denied', failure: true });
    expect(failures).toMatchObject([{ reason: 'threw' }]);
  });

  it('and whose failure cannot be recorded denies, whatever its onError', async () => {
    const { run } = dispatchOver([preHook({ name: 'a', onError: 'continue', execute: () => undefined })], {
      onHookFailed: () => Promise.reject(new Error('the record is down')),
    });
    expect(await run()).toMatchObject({ kind: 'denied', code: 'gate_unavailable', failure: true });
  });
});

describe('a call that cannot be decided', () => {
  it.each([
    ['there is no context', undefined],
    ['the context is empty', {}],
    ['there are no arguments', { ...CONTEXT, toolArgs: undefined }],
    ['the arguments are no JSON', { ...CONTEXT, toolArgs: { a: 1n } }],
    ['there is no metadata', { ...CONTEXT, metadata: undefined }],
  ])('because %s is denied', async (_what, context) => {
    const { run, failures } = dispatchOver([], { context: context as unknown as HookContext });
    expect(await run()).toMatchObject({ kind: 'denied', code: 'gate_unavailable', failure: true });
    expect(failures).toHaveLength(1);
  });
});

function cyclic(): object {
  const value: Record<string, unknown> = {};
  value.self = value;
  return value;
}

const hostileHandler: ProxyHandler<object> = {
  get(_target, key) {
    if (key === 'then') return undefined;
    throw new Error('secret-token');
  },
};

const rejectingThenable = () => ({
  // biome-ignore lint/suspicious/noThenProperty: a thenable is what is tried here.
  then(_resolve: unknown, reject: (reason: unknown) => void) {
    reject(new Error('secret-token'));
  },
});
