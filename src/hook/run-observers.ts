import type { Clock } from '../clock.ts';
import { HookCaller } from './hook-caller.ts';
import type { OnHookFailed } from './hook-failure.ts';
import { describeThrown } from './hook-failure.ts';
import type { HookPoint } from './hook-point.ts';
import type { HookRegistry } from './hook-registry.ts';
import type { RegisteredHook } from './registered-hook.ts';
import type { SideEffect } from './side-effect.ts';

export interface ObserverDispatch<Context extends object> {
  readonly registry: HookRegistry;
  readonly point: HookPoint<Context, ObserverAnswer>;
  /** Deeply read-only in type; the engine freezes it before it comes here. */
  readonly context: Context;
  readonly clock: Clock;
  readonly onHookFailed: OnHookFailed;
}

type ObserverAnswer = { readonly sideEffects?: readonly string[] | undefined } | undefined;

/**
 * Shows a finished thing to every observer of a point, side by side: none sees, delays or stops another, and each is
 * bounded by its own time-out. Nothing cancels them: what happened is to be seen, also when the run was stopped.
 * Never rejects; failures go to `onHookFailed`, and where that fails too they are lost.
 */
export async function runObservers<Context extends object>(
  dispatch: ObserverDispatch<Context>,
): Promise<readonly SideEffect[]> {
  const observed = await Promise.all(
    dispatch.registry.at(dispatch.point).map((hook) => observe(dispatch, hook).catch(() => [])),
  );
  return observed.flat();
}

async function observe<Context extends object>(
  dispatch: ObserverDispatch<Context>,
  hook: RegisteredHook,
): Promise<readonly SideEffect[]> {
  const caller = new HookCaller({ clock: dispatch.clock, signal: null });
  const outcome = await caller.call(hook, dispatch.context);
  caller.close();
  const failure = { hook: hook.name, point: hook.point };
  switch (outcome.kind) {
    case 'not-triggered':
    case 'cancelled':
      return [];
    case 'failed':
      await dispatch.onHookFailed({ ...failure, reason: outcome.reason, detail: outcome.detail });
      return [];
    case 'answered': {
      const texts = sideEffectsOf(dispatch.point, outcome.answer);
      if (typeof texts !== 'string') return texts.map((text) => ({ hook: hook.name, text }));
      await dispatch.onHookFailed({ ...failure, reason: 'bad_result', detail: texts });
      return [];
    }
  }
}

/** What the observer says it did, or a sentence on why its answer is no result. */
function sideEffectsOf<Context extends object>(
  point: HookPoint<Context, ObserverAnswer>,
  answer: unknown,
): readonly string[] | string {
  try {
    const parsed = point.result.safeParse(answer);
    return parsed.success ? (parsed.data?.sideEffects ?? []) : parsed.error.message;
  } catch (thrown) {
    return describeThrown(thrown);
  }
}
