import type { Clock } from '../clock.ts';
import { frozenContextWith } from './frozen-context.ts';
import { HookCaller } from './hook-caller.ts';
import type { PostToolUseContext } from './hook-context.ts';
import type { OnHookFailed } from './hook-failure.ts';
import { POST_TOOL_USE } from './hook-point.ts';
import type { HookRegistry } from './hook-registry.ts';
import { runHookChain } from './run-hook-chain.ts';
import type { SideEffect } from './side-effect.ts';

export interface PostToolUseDispatch {
  readonly registry: HookRegistry;
  /** `toolResult` is the real result; it is copied, never changed. */
  readonly context: PostToolUseContext;
  /** Cancels: the hook that runs is told, none follows, the view is withheld. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly onHookFailed: OnHookFailed;
}

export interface PostToolUseOutcome {
  /** What the model may see. */
  readonly view: string;
  readonly sideEffects: readonly SideEffect[];
}

/**
 * Lets the hooks change what the model sees of a result; what the tool really answered is the caller's and stays as
 * it is. Never rejects: where a hook with `onError: 'deny'` fails, or anything around the hooks does, the view is
 * withheld, because the hook that failed may be the one that hides something.
 */
export async function dispatchPostToolUse(dispatch: PostToolUseDispatch): Promise<PostToolUseOutcome> {
  const sideEffects: SideEffect[] = [];
  const caller = new HookCaller(dispatch);
  try {
    const end = await runHookChain(
      {
        point: POST_TOOL_USE,
        hooks: dispatch.registry.at(POST_TOOL_USE),
        caller,
        context: frozenContextWith(dispatch.context, { toolResult: dispatch.context.toolResult }),
        onHookFailed: dispatch.onHookFailed,
      },
      sideEffects,
    );
    return { view: end.kind === 'completed' ? end.context.toolResult : WITHHELD, sideEffects };
  } catch {
    return { view: WITHHELD, sideEffects };
  } finally {
    caller.close();
  }
}

const WITHHELD =
  'The tool ran and its result is on record, but a check of what may be shown could not be completed, so the result ' +
  'is withheld here. Do not call the tool again for it; tell a person.';
