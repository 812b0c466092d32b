import type { Clock } from '../clock.ts';
import { frozenContextWith } from './frozen-context.ts';
import type { ToolSettledContext } from './hook-context.ts';
import type { OnHookFailed } from './hook-failure.ts';
import { TOOL_SETTLED } from './hook-point.ts';
import type { HookRegistry } from './hook-registry.ts';
import { runObservers } from './run-observers.ts';
import type { SideEffect } from './side-effect.ts';

export interface ToolSettledDispatch {
  readonly registry: HookRegistry;
  readonly context: ToolSettledContext;
  readonly clock: Clock;
  readonly onHookFailed: OnHookFailed;
}

/**
 * Shows the end of a call to the observers, however it ended and whether or not its run still goes on. Never rejects,
 * and takes no longer than the longest time-out among them.
 */
export async function dispatchToolSettled(
  dispatch: ToolSettledDispatch,
): Promise<{ readonly sideEffects: readonly SideEffect[] }> {
  try {
    const context = frozenContextWith(dispatch.context, {
      settlement: Object.freeze({ ...dispatch.context.settlement }),
    });
    return { sideEffects: await runObservers({ ...dispatch, point: TOOL_SETTLED, context }) };
  } catch {
    // Only a context that no call could have had; the call itself is over, and must not fail by being watched.
    return { sideEffects: [] };
  }
}
