import { z } from 'zod';
import { frozenJson } from './frozen-json.ts';
import type { HookCaller } from './hook-caller.ts';
import type { HookFailureReason, OnHookFailed } from './hook-failure.ts';
import { describeThrown } from './hook-failure.ts';
import type { HookPoint } from './hook-point.ts';
import type { RegisteredHook } from './registered-hook.ts';
import type { SideEffect } from './side-effect.ts';

export interface HookChain<Context extends object, Result> {
  readonly point: HookPoint<Context, Result>;
  readonly hooks: readonly RegisteredHook[];
  readonly caller: HookCaller;
  /** Frozen. A replaced field makes a new context for the hooks that follow. */
  readonly context: Context;
  readonly onHookFailed: OnHookFailed;
  /** Says why this hook may not answer so; null where it may. */
  readonly refuse?: (hook: RegisteredHook, result: Result) => string | null;
  /** Checks a field that a hook wants to replace: a sentence where the value will not do. */
  readonly refuseValue?: (field: keyof Context & string, value: unknown) => string | null;
  /** Whether the result ends the chain. */
  readonly stops?: (result: Result) => boolean;
  /** Told each result that was taken, in order. */
  readonly onResult?: (result: Result) => void;
}

export type HookChainEnd<Context, Result> =
  | { readonly kind: 'completed'; readonly context: Context }
  | {
      readonly kind: 'stopped';
      readonly by: RegisteredHook;
      readonly result: Result;
      readonly context: Context;
    }
  /** A hook failed that denies when it fails, or refused in words that are no result. Already reported. */
  | { readonly kind: 'failed'; readonly by: RegisteredHook }
  | { readonly kind: 'cancelled'; readonly by: RegisteredHook };

/**
 * Runs the hooks of a directive or transform point one after the other, each on what the one before left. The same
 * for every such point: what may be answered and replaced is in the point's declaration. Rejects only where
 * `onHookFailed` does.
 */
export async function runHookChain<Context extends object, Result extends Sided>(
  chain: HookChain<Context, Result>,
  sideEffects: SideEffect[],
): Promise<HookChainEnd<Context, Result>> {
  let context = chain.context;
  for (const hook of chain.hooks) {
    const outcome = await chain.caller.call(hook, context);
    if (outcome.kind === 'not-triggered') continue;
    if (outcome.kind === 'cancelled') return { kind: 'cancelled', by: hook };

    const taken =
      outcome.kind === 'answered'
        ? take(chain, hook, context, outcome.answer)
        : { ...outcome, denies: false };
    if (taken.kind === 'failed') {
      await chain.onHookFailed({
        hook: hook.name,
        point: hook.point,
        reason: taken.reason,
        detail: taken.detail,
      });
      if (hook.onError === 'deny' || taken.denies) return { kind: 'failed', by: hook };
      continue;
    }
    context = taken.context;
    if (taken.result.sideEffects !== undefined) {
      for (const text of taken.result.sideEffects) sideEffects.push({ hook: hook.name, text });
    }
    chain.onResult?.(taken.result);
    if (chain.stops?.(taken.result)) return { kind: 'stopped', by: hook, result: taken.result, context };
  }
  return { kind: 'completed', context };
}

/** Every result may say what the hook did. */
interface Sided {
  readonly sideEffects?: readonly string[] | undefined;
}

type Taken<Context, Result> =
  | { readonly kind: 'taken'; readonly result: Result; readonly context: Context }
  | {
      readonly kind: 'failed';
      readonly reason: HookFailureReason;
      readonly detail: string;
      /** The answer is no result, but it does say no; that is never turned into a yes. */
      readonly denies: boolean;
    };

/** Checks an answer once, into plain values that the hook no longer holds, and applies what it replaces. */
function take<Context extends object, Result extends Sided>(
  chain: HookChain<Context, Result>,
  hook: RegisteredHook,
  context: Context,
  answer: unknown,
): Taken<Context, Result> {
  try {
    const parsed = chain.point.result.safeParse(answer);
    if (!parsed.success) return badResult(z.prettifyError(parsed.error), saysNo(answer));
    const refused = chain.refuse?.(hook, parsed.data) ?? null;
    // A no in words that were not this hook's to say stays a no.
    if (refused !== null) return badResult(refused, saysNo(parsed.data));
    return replaceFields(chain, context, parsed.data);
  } catch (thrown) {
    return badResult(describeThrown(thrown), saysNo(answer));
  }
}

function replaceFields<Context extends object, Result extends Sided>(
  chain: HookChain<Context, Result>,
  context: Context,
  result: Result,
): Taken<Context, Result> {
  let replaced = context;
  for (const member in chain.point.writable) {
    const value = (result as Readonly<Record<string, unknown>>)[member];
    const field = chain.point.writable[member];
    if (value === undefined || field === undefined) continue;
    const frozen = frozenJson(value, member);
    const refused = chain.refuseValue?.(field, frozen) ?? null;
    if (refused !== null) {
      return { kind: 'failed', reason: 'invalid_arguments', detail: refused, denies: false };
    }
    replaced = Object.freeze({ ...replaced, [field]: frozen });
  }
  return { kind: 'taken', result, context: replaced };
}

const badResult = (detail: string, denies: boolean): Taken<never, never> => ({
  kind: 'failed',
  reason: 'bad_result',
  detail,
  denies,
});

function saysNo(answer: unknown): boolean {
  try {
    return typeof answer === 'object' && answer !== null && 'allow' in answer && answer.allow === false;
  } catch {
    return false;
  }
}
