import type { Clock } from '../clock.ts';
import type { BlockCode } from '../errors.ts';
import type { ConfirmationId } from '../ids.ts';
import type { JsonObject } from '../json.ts';
import { frozenContext } from './frozen-context.ts';
import { HookCaller } from './hook-caller.ts';
import type { HookContext } from './hook-context.ts';
import type { OnHookFailed } from './hook-failure.ts';
import { describeThrown } from './hook-failure.ts';
import { PRE_TOOL_USE } from './hook-point.ts';
import type { HookRegistry } from './hook-registry.ts';
import type { PreToolUseResult } from './hook-results.ts';
import type { RegisteredHook } from './registered-hook.ts';
import type { HookChainEnd } from './run-hook-chain.ts';
import { runHookChain } from './run-hook-chain.ts';
import type { SideEffect } from './side-effect.ts';

export interface PreToolUseDispatch {
  readonly registry: HookRegistry;
  readonly context: HookContext;
  /** Checks rewritten arguments against the tool's schema; they are frozen. */
  readonly validateArgs: (
    args: JsonObject,
  ) => { readonly ok: true } | { readonly ok: false; readonly message: string };
  /** Cancels: the hook that runs is told, none follows, the call is denied as `cancelled`. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly onHookFailed: OnHookFailed;
  /** Hooks that had finished before the run was interrupted. The gate is never skipped. */
  readonly skip?: ReadonlySet<string>;
}

/** `args` are the arguments as the last hook left them, deeply frozen: what may run, and nothing else. */
export type PreToolUseOutcome =
  | { readonly kind: 'allowed'; readonly args: JsonObject; readonly sideEffects: readonly SideEffect[] }
  | {
      readonly kind: 'pending';
      readonly confirmationId: ConfirmationId;
      readonly args: JsonObject;
      readonly sideEffects: readonly SideEffect[];
    }
  | { readonly kind: 'stubbed'; readonly args: JsonObject; readonly sideEffects: readonly SideEffect[] }
  | {
      readonly kind: 'denied';
      readonly code: BlockCode;
      /** One plain sentence for the model. */
      readonly message: string;
      /** Seconds; null where no time makes a retry sensible. */
      readonly retryAfter: number | null;
      readonly hookName: string;
      /** True where the hook did not decide but failed; the failure was reported. */
      readonly failure: boolean;
      /** The request that the gate stored and closed at once; else null. */
      readonly confirmationId: ConfirmationId | null;
      readonly sideEffects: readonly SideEffect[];
    };

/**
 * Asks the hooks, and the confirmation gate after all of them, whether a call may run. The first denial ends it. Never
 * rejects: whatever goes wrong, in a hook or around them, the answer is a denial.
 */
export async function dispatchPreToolUse(dispatch: PreToolUseDispatch): Promise<PreToolUseOutcome> {
  const sideEffects: SideEffect[] = [];
  const caller = new HookCaller(dispatch);
  try {
    const end = await runHookChain(
      {
        point: PRE_TOOL_USE,
        hooks: unfinishedHooks(dispatch),
        caller,
        context: frozenContext(dispatch.context),
        onHookFailed: dispatch.onHookFailed,
        refuse: refuseByPlace,
        refuseValue(_field, value) {
          return refuseArgs(dispatch, value as JsonObject);
        },
        stops: endsTheChain,
      },
      sideEffects,
    );
    return outcomeOf(end, sideEffects);
  } catch (thrown) {
    const hookName = dispatch.registry.gateName;
    await reportQuietly(dispatch, hookName, describeThrown(thrown));
    return denied({
      code: 'gate_unavailable',
      message: GATE_UNAVAILABLE,
      hookName,
      failure: true,
      sideEffects,
    });
  } finally {
    caller.close();
  }
}

const CHECK_FAILED = 'A check that this call has to pass could not be completed, so the call did not run.';
const GATE_UNAVAILABLE =
  'The confirmation gate could not be asked, so the call did not run. A person has to look; do not try another way.';
const CANCELLED = 'The run was cancelled before the call ran.';

function unfinishedHooks({ registry, skip }: PreToolUseDispatch): readonly RegisteredHook[] {
  const hooks = registry.at(PRE_TOOL_USE);
  return skip === undefined ? hooks : hooks.filter((hook) => hook.isGate || !skip.has(hook.name));
}

function outcomeOf(
  end: HookChainEnd<HookContext, PreToolUseResult>,
  sideEffects: readonly SideEffect[],
): PreToolUseOutcome {
  switch (end.kind) {
    case 'completed':
      return { kind: 'allowed', args: end.context.toolArgs, sideEffects };
    case 'cancelled':
      return denied({
        code: 'cancelled',
        message: CANCELLED,
        hookName: end.by.name,
        failure: false,
        sideEffects,
      });
    case 'failed':
      return end.by.isGate
        ? denied({
            code: 'gate_unavailable',
            message: GATE_UNAVAILABLE,
            hookName: end.by.name,
            failure: true,
            sideEffects,
          })
        : denied({
            code: 'denied_by_hook',
            message: CHECK_FAILED,
            hookName: end.by.name,
            failure: true,
            sideEffects,
          });
    case 'stopped':
      return outcomeOfResult(end.result, end.by, end.context.toolArgs, sideEffects);
  }
}

function outcomeOfResult(
  result: PreToolUseResult,
  by: RegisteredHook,
  args: JsonObject,
  sideEffects: readonly SideEffect[],
): PreToolUseOutcome {
  switch (result.allow) {
    case 'pending':
      return { kind: 'pending', confirmationId: result.confirmationId, args, sideEffects };
    case 'stubbed':
      return { kind: 'stubbed', args, sideEffects };
    case false:
      return denied({
        code: result.code ?? 'denied_by_hook',
        message: result.error,
        retryAfter: result.retryAfter ?? null,
        hookName: by.name,
        failure: false,
        confirmationId: result.confirmationId ?? null,
        sideEffects,
      });
    case true:
      throw new Error('An allowing result does not end a chain.');
  }
}

const endsTheChain = (result: PreToolUseResult): boolean => result.allow !== true;

function refuseArgs(dispatch: PreToolUseDispatch, args: JsonObject): string | null {
  try {
    const verdict = dispatch.validateArgs(args);
    return verdict.ok === true ? null : verdict.message;
  } catch (thrown) {
    return describeThrown(thrown);
  }
}

type Denied = Extract<PreToolUseOutcome, { kind: 'denied' }>;

const denied = (
  parts: Omit<Denied, 'kind' | 'retryAfter' | 'confirmationId'> &
    Partial<Pick<Denied, 'retryAfter' | 'confirmationId'>>,
): Denied => ({ kind: 'denied', retryAfter: null, confirmationId: null, ...parts });

/** Only the gate speaks of confirmations, and only the others rewrite: it has to see what will run. */
function refuseByPlace(hook: RegisteredHook, result: PreToolUseResult): string | null {
  if (hook.isGate) {
    return result.allow === true && result.modifiedArgs !== undefined
      ? 'the gate may not rewrite arguments'
      : null;
  }
  if (result.allow === 'pending' || result.allow === 'stubbed') {
    return `only the confirmation gate may answer "${result.allow}"`;
  }
  if (result.allow === true) return null;
  if (result.confirmationId !== undefined) return 'only the confirmation gate may name a confirmation';
  return result.code !== undefined && WORDS_OF_THE_GATE.has(result.code)
    ? `only the confirmation gate may say "${result.code}"`
    : null;
}

/** What becomes of a request for confirmation: on the record, none of these may be the word of a hook. */
const WORDS_OF_THE_GATE: ReadonlySet<BlockCode> = new Set([
  'rejected',
  'expired',
  'cancelled',
  'superseded',
  'undeliverable',
  'gate_unavailable',
  'lapsed',
  'revoked',
]);

async function reportQuietly(dispatch: PreToolUseDispatch, hook: string, detail: string): Promise<void> {
  try {
    await dispatch.onHookFailed({ hook, point: PRE_TOOL_USE.name, reason: 'threw', detail });
  } catch {
    // The call is denied in any case; that it could not be recorded changes nothing for it.
  }
}
