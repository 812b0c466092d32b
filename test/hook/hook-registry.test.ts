import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { buildHookRegistry } from '../../src/hook/build-hook-registry.ts';
import { Hook } from '../../src/hook/hook.ts';
import { HookBuildError } from '../../src/hook/hook-build-error.ts';
import { HookCaller } from '../../src/hook/hook-caller.ts';
import type { HookKind } from '../../src/hook/hook-kind.ts';
import {
  HOOK_POINTS,
  type HookPoint,
  PRE_TOOL_USE,
  SESSION_START,
  TOOL_SETTLED,
} from '../../src/hook/hook-point.ts';
import type { HookPorts } from '../../src/hook/hook-ports.ts';
import { HookRegistry } from '../../src/hook/hook-registry.ts';
import type { RegistrableHook } from '../../src/hook/registered-hook.ts';
import { runHookChain } from '../../src/hook/run-hook-chain.ts';
import { runObservers } from '../../src/hook/run-observers.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { observer, preHook, SampleGate } from './sample-hooks.ts';

const allow = () => ({ allow: true });
const named = (name: string, priority = 100) => preHook({ name, priority, execute: allow });

function faultsOf(build: () => unknown): readonly string[] {
  try {
    build();
  } catch (error) {
    if (error instanceof HookBuildError) return error.faults;
    throw error;
  }
  throw new Error('The registry was built.');
}

describe('a registry', () => {
  it('orders by priority, keeps the order of declaration within one, and puts the gate last', () => {
    const hooks = [
      named('d', 100),
      named('a', 5),
      named('e', 100),
      named('b', 5),
      named('f', 1e308),
      named('c', 50),
    ];
    const registry = new HookRegistry({ hooks, gate: new SampleGate() });
    expect(registry.at(PRE_TOOL_USE).map(({ name }) => name)).toEqual([
      'a',
      'b',
      'c',
      'd',
      'e',
      'f',
      'confirmation-gate',
    ]);
    expect(registry.at(SESSION_START)).toEqual([]);
  });

  it('names its chain in order, under a revision that is another one wherever the chain is', () => {
    const built = (names: readonly [string, number][], options: Record<string, unknown> = {}) =>
      new HookRegistry({
        hooks: names.map(([name, priority]) => named(name, priority)),
        gate: new SampleGate(),
        options: new Map(Object.entries(options)),
      }).chain;
    const chain = built([
      ['b', 2],
      ['a', 1],
    ]);
    expect(chain.hooks.map(({ point, name }) => `${point}/${name}`)).toEqual([
      'PreToolUse/a',
      'PreToolUse/b',
      'PreToolUse/confirmation-gate',
    ]);
    const two: [string, number][] = [
      ['a', 1],
      ['b', 2],
    ];
    expect(built(two)).toEqual(chain);
    const others = [
      built([['a', 1]]),
      built([
        ['a', 2],
        ['b', 1],
      ]),
      built(two, { a: { most: 3 } }),
      built(two, { a: { most: 4 } }),
    ];
    expect(new Set([chain, ...others].map(({ revision }) => revision)).size).toBe(5);
  });

  it('does not change with the things it was built from', () => {
    const hooks = [named('a', 1), named('b', 2)];
    const registry = new HookRegistry({ hooks, gate: new SampleGate() });
    Object.assign(hooks[0] as object, { priority: 99, onError: 'continue' });
    hooks.pop();
    const entries = registry.at(PRE_TOOL_USE);
    expect(entries.map(({ name }) => name)).toEqual(['a', 'b', 'confirmation-gate']);
    expect(entries[0]).toMatchObject({ priority: 1, onError: 'deny' });
    expect(Object.isFrozen(entries) && Object.isFrozen(entries[0])).toBe(true);
  });

  it.each<[string, () => readonly RegistrableHook[], RegExp]>([
    ['two hooks of one name', () => [named('a'), named('a')], /"a": there are two/],
    [
      'a hook with the name of the gate',
      () => [named('confirmation-gate')],
      /"confirmation-gate": there are two/,
    ],
    ['a second gate', () => [new SampleGate()], /exactly one gate/],
    ['a name that is not kebab-case', () => [named('Pay Guard')], /kebab-case/],
    ['a priority that is no number', () => [named('a', Number.NaN)], /finite/],
    ['a priority behind the gate', () => [named('a', Number.POSITIVE_INFINITY)], /finite/],
    ['no onError', () => [changed({ onError: undefined })], /onError/],
    ['a time-out of nothing', () => [changed({ timeoutMs: 0 })], /timeoutMs/],
    ['no time-out', () => [changed({ timeoutMs: Number.POSITIVE_INFINITY })], /timeoutMs/],
    [
      'a point that nobody declared',
      () => [changed({ point: 'PreToolUze' })],
      /no point "PreToolUze" is declared/,
    ],
    [
      'an observer that would deny',
      () => [observer({ name: 'a', onError: 'deny', execute: allow })],
      /"continue"/,
    ],
  ])('refuses %s', (_what, hooks, fault) => {
    expect(faultsOf(() => new HookRegistry({ hooks: hooks(), gate: new SampleGate() }))).toEqual(
      expect.arrayContaining([expect.stringMatching(fault)]),
    );
  });

  it('refuses to be without a gate, or with one that may fail open', () => {
    const gate = named('confirmation-gate') as unknown as SampleGate;
    expect(faultsOf(() => new HookRegistry({ hooks: [], gate }))).toEqual(['the gate has to be a GateHook']);
    const open = Object.assign(new SampleGate(), { onError: 'continue' });
    expect(faultsOf(() => new HookRegistry({ hooks: [], gate: open as unknown as SampleGate }))).toEqual([
      expect.stringMatching(/the gate denies when it fails/),
    ]);
  });
});

describe('the points', () => {
  it('are the four of the contract', () => {
    expect(HOOK_POINTS.map(({ name, hookClass }) => `${name} ${hookClass}`)).toEqual([
      'SessionStart transform',
      'PreToolUse directive',
      'PostToolUse transform',
      'ToolSettled observer',
    ]);
  });

  it('are open: one more is a declaration, and runs through the same chain', async () => {
    const registry = new HookRegistry({
      hooks: [
        messageHook('shout', (text) => ({ text: text.toUpperCase() })),
        messageHook('meddle', () => ({ user: 'me' })),
      ],
      gate: new SampleGate(),
      points: [...HOOK_POINTS, USER_MESSAGE],
    });
    const failures: string[] = [];
    const caller = new HookCaller({ clock: new ManualClock(), signal: null });
    const end = await runHookChain(
      {
        point: USER_MESSAGE,
        hooks: registry.at(USER_MESSAGE),
        caller,
        context: { text: 'pay it', user: 'zhao.min' },
        onHookFailed: ({ hook, reason }) => {
          failures.push(`${hook} ${reason}`);
        },
      },
      [],
    );
    caller.close();
    // The field that is not writable was refused; what was written before stands.
    expect(end).toMatchObject({ kind: 'failed', by: { name: 'meddle' } });
    expect(failures).toEqual(['meddle bad_result']);
  });

  it('are open for observers too', async () => {
    const seen: unknown[] = [];
    const point: HookPoint<{ readonly reason: string }, undefined> = {
      ...TOOL_SETTLED,
      name: 'RunEnd',
      result: z.undefined(),
      writable: {},
    };
    class RunEndHook extends Hook<{ readonly reason: string }, undefined> {
      readonly point = 'RunEnd';
      readonly name = 'run-end';
      readonly onError = 'continue';
      async execute(context: { readonly reason: string }) {
        seen.push(context.reason);
        return undefined;
      }
    }
    const registry = new HookRegistry({
      hooks: [new RunEndHook()],
      gate: new SampleGate(),
      points: [...HOOK_POINTS, point],
    });
    const clock = new ManualClock();
    await runObservers({ registry, point, context: { reason: 'cancelled' }, clock, onHookFailed: () => {} });
    expect(seen).toEqual(['cancelled']);
    const without = new HookRegistry({ hooks: [], gate: new SampleGate() });
    expect(() => without.at(point)).toThrow('No hook point "RunEnd" is declared.');
  });

  it('cannot be declared twice, nor let an observer write', () => {
    const points = [...HOOK_POINTS, SESSION_START, { ...TOOL_SETTLED, name: 'Odd', writable: { x: 'y' } }];
    expect(faultsOf(() => new HookRegistry({ hooks: [], gate: new SampleGate(), points }))).toEqual([
      'point "SessionStart": there are two of this name',
      'point "Odd": an observer cannot have writable fields',
    ]);
  });
});

describe('the hooks of an agent', () => {
  const ports = {} as HookPorts;
  const limited: HookKind<{ limit: number }> = {
    name: 'limited',
    options: z.strictObject({ limit: z.int().min(1), window: z.string().default('1m') }),
    create: ({ limit }) => named('limited', limit),
  };
  const plain: HookKind<object> = {
    name: 'plain',
    options: z.strictObject({}),
    create: () => named('plain', 1),
  };
  const broken: HookKind<object> = {
    name: 'broken',
    options: z.strictObject({}),
    create: () => {
      throw new Error('no such file');
    },
  };
  const misnamed: HookKind<object> = {
    name: 'misnamed',
    options: z.strictObject({}),
    create: () => named('other'),
  };
  const build = (...declarations: { name: string; options: unknown }[]) =>
    buildHookRegistry({
      declarations,
      kinds: [limited, plain, broken, misnamed],
      gate: new SampleGate(),
      ports,
    });

  it('are those it declares, and the gate', () => {
    const registry = build({ name: 'limited', options: { limit: 5 } }, { name: 'plain', options: undefined });
    expect(registry.at(PRE_TOOL_USE).map(({ name }) => name)).toEqual([
      'plain',
      'limited',
      'confirmation-gate',
    ]);
  });

  it('hold the gate once, declared or not', () => {
    const registry = build({ name: 'confirmation-gate', options: {} });
    expect(registry.at(PRE_TOOL_USE).map(({ name }) => name)).toEqual(['confirmation-gate']);
    expect(faultsOf(() => build({ name: 'confirmation-gate', options: { off: true } }))).toEqual([
      'hook "confirmation-gate" is attached to every agent and takes no options',
    ]);
  });

  it('are not built at all where anything is wrong, and every fault is named', () => {
    expect(
      faultsOf(() =>
        build(
          { name: 'limitd', options: {} },
          { name: 'limited', options: { limit: 0, limt: 3 } },
          { name: 'broken', options: {} },
          { name: 'misnamed', options: {} },
          { name: 'plain', options: {} },
          { name: 'plain', options: {} },
        ),
      ),
    ).toEqual([
      'hook "limitd" is not known; did you mean "limited"?',
      expect.stringMatching(/^hook "limited": limit: /),
      expect.stringMatching(/^hook "limited": Unrecognized key: "limt"/),
      'hook "broken" could not be created: no such file',
      'hook "misnamed" calls itself "other"',
      'hook "plain": there are two of this name',
    ]);
  });
});

const changed = (changes: object) => Object.assign(named('a'), changes) as unknown as RegistrableHook;

interface Message {
  readonly text: string;
  readonly user: string;
}

const messageResult = z.strictObject({
  text: z.string().optional(),
  sideEffects: z.array(z.string()).optional(),
});

const USER_MESSAGE: HookPoint<Message, z.infer<typeof messageResult>> = {
  name: 'UserMessage',
  hookClass: 'transform',
  result: messageResult,
  writable: { text: 'text' },
  failureRule: 'as-declared',
};

function messageHook(name: string, answer: (text: string) => object) {
  class MessageHook extends Hook<Message, object> {
    readonly point = 'UserMessage';
    readonly name = name;
    readonly onError = 'deny';
    async execute({ text }: Message) {
      return answer(text);
    }
  }
  return new MessageHook();
}
