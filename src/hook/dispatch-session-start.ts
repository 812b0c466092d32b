import type { Clock } from '../clock.ts';
import { CountersignError } from '../errors.ts';
import { HookCaller } from './hook-caller.ts';
import type { SessionStartContext } from './hook-context.ts';
import type { OnHookFailed } from './hook-failure.ts';
import { SESSION_START } from './hook-point.ts';
import type { HookRegistry } from './hook-registry.ts';
import { runHookChain } from './run-hook-chain.ts';
import type { SideEffect } from './side-effect.ts';

export interface SessionStartDispatch {
  readonly registry: HookRegistry;
  readonly context: SessionStartContext;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly onHookFailed: OnHookFailed;
}

export interface SessionStartOutcome {
  /** One text a hook, in order, for the initial prompt. */
  readonly context: readonly string[];
  readonly sideEffects: readonly SideEffect[];
}

/**
 * Collects what the hooks add to a session's initial prompt. Rejects where the session must not start: with
 * `denied_by_hook` where a hook with `onError: 'deny'` failed, with the signal's reason where the run was cancelled.
 */
export async function dispatchSessionStart(dispatch: SessionStartDispatch): Promise<SessionStartOutcome> {
  const context: string[] = [];
  const sideEffects: SideEffect[] = [];
  const caller = new HookCaller(dispatch);
  try {
    const end = await runHookChain(
      {
        point: SESSION_START,
        hooks: dispatch.registry.at(SESSION_START),
        caller,
        context: Object.freeze({
          ...dispatch.context,
          metadata: Object.freeze({ ...dispatch.context.metadata }),
        }),
        onHookFailed: dispatch.onHookFailed,
        onResult: (result) => {
          if (result.context !== undefined) context.push(result.context);
        },
      },
      sideEffects,
    );
    if (end.kind === 'cancelled') throw dispatch.signal.reason;
    if (end.kind === 'failed') {
      throw new CountersignError(
        'denied_by_hook',
        `The session cannot start: its hook "${end.by.name}" failed.`,
      );
    }
    return { context, sideEffects };
  } finally {
    caller.close();
  }
}
