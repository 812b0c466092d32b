import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { HookContext } from '../../src/hook/hook-context.ts';
import type { JsonObject } from '../../src/json.ts';
import { CONTEXT, dispatchOver, preHook } from './sample-hooks.ts';

type Act =
  | { readonly kind: 'allow' | 'deny' | 'throw' | 'nothing' | 'forge-pending' | 'not-triggered' }
  | { readonly kind: 'rewrite'; readonly to: number };

interface Sampled {
  readonly act: Act;
  readonly priority: number;
  readonly onError: 'deny' | 'continue';
}

const acts: fc.Arbitrary<Act> = fc.oneof(
  fc.record({ kind: fc.constantFrom('allow', 'deny', 'throw', 'nothing', 'forge-pending', 'not-triggered') }),
  fc.record({ kind: fc.constant('rewrite' as const), to: fc.integer({ min: -3, max: 3 }) }),
);
const samples = fc.array(
  fc.record<Sampled>({
    act: acts,
    priority: fc.integer({ min: 0, max: 3 }),
    onError: fc.constantFrom('deny', 'continue'),
  }),
  { maxLength: 8 },
);

/** The tool takes no negative amounts. */
const validateArgs = (args: JsonObject) =>
  Number(args.amount) >= 0 ? ({ ok: true } as const) : ({ ok: false, message: 'amount: negative' } as const);

/** What the contract says, worked out without any of the code under test. */
function expected(hooks: readonly Sampled[]): {
  readonly kind: 'allowed' | 'denied';
  readonly amount: number;
  readonly asked: number[];
} {
  const order = hooks
    .map((hook, index) => ({ ...hook, index }))
    .sort((a, b) => a.priority - b.priority || a.index - b.index);
  let amount = 0;
  const asked: number[] = [];
  for (const { act, onError, index } of order) {
    if (act.kind === 'not-triggered') continue;
    asked.push(index);
    const failed =
      act.kind === 'throw' ||
      act.kind === 'nothing' ||
      act.kind === 'forge-pending' ||
      (act.kind === 'rewrite' && act.to < 0);
    if (act.kind === 'deny' || (failed && onError === 'deny')) return { kind: 'denied', amount, asked };
    if (act.kind === 'rewrite' && !failed) amount = act.to;
  }
  return { kind: 'allowed', amount, asked };
}

describe('any mix of hooks', () => {
  it('denies where one denies, runs in stable order of priority, and allows the last valid rewrite', async () => {
    await fc.assert(
      fc.asyncProperty(samples, async (sampled) => {
        const asked: number[] = [];
        const { run, gate } = dispatchOver(
          sampled.map(({ act, priority, onError }, index) =>
            preHook({
              name: `hook-${index}`,
              priority,
              onError,
              shouldTrigger: () => act.kind !== 'not-triggered',
              execute: (context) => {
                asked.push(index);
                return perform(act, context);
              },
            }),
          ),
          { context: { ...CONTEXT, toolArgs: { amount: 0 } }, validateArgs },
        );
        const outcome = await run();
        const wanted = expected(sampled);
        expect(asked).toEqual(wanted.asked);
        expect(outcome.kind).toBe(wanted.kind);
        expect(gate.seen.map(({ toolArgs }) => toolArgs)).toEqual(
          wanted.kind === 'allowed' ? [{ amount: wanted.amount }] : [],
        );
        if (outcome.kind === 'allowed') expect(outcome.args).toEqual({ amount: wanted.amount });
      }),
      { numRuns: 500 },
    );
  });

  it('never allows by any answer of a hook that must not fail, unless it is a proper yes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.anything({ withNullPrototype: true, withDate: true }), async (answer) => {
        const proper =
          typeof answer === 'object' && answer !== null && 'allow' in answer && answer.allow === true;
        fc.pre(!proper);
        const { run } = dispatchOver([preHook({ name: 'a', execute: () => answer })]);
        expect((await run()).kind).toBe('denied');
      }),
      { numRuns: 300 },
    );
  });
});

function perform(act: Act, context: HookContext): unknown {
  switch (act.kind) {
    case 'deny':
      return { allow: false, error: 'No.' };
    case 'throw':
      throw new Error('no');
    case 'nothing':
      return undefined;
    case 'forge-pending':
      return { allow: 'pending', confirmationId: 'c-1' };
    case 'rewrite':
      return { allow: true, modifiedArgs: { ...context.toolArgs, amount: act.to } };
    default:
      return { allow: true };
  }
}
