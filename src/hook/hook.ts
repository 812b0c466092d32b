import type {
  HookContext,
  PostToolUseContext,
  SessionStartContext,
  ToolSettledContext,
} from './hook-context.ts';
import type {
  ObserverResult,
  PostToolUseResult,
  PreToolUseResult,
  SessionStartResult,
} from './hook-results.ts';

/**
 * What a failure of the hook (a throw, a rejection, a time-out, an answer that is no result) does.
 * `deny`: the call does not run (a view the hook should have changed is withheld). `continue`: as if the hook were
 * not there; the failure is on the record. There is no default: every hook class says which.
 */
export type OnError = 'deny' | 'continue';

/** One extension of the engine. It runs below the model loop: the model cannot see, name, reorder or skip it. */
export abstract class Hook<Context, Result> {
  /** Name of the declared point at which the hook runs; each class below has its own. */
  abstract readonly point: string;
  /** Unique in one registry, kebab-case; the name under which a configuration declares it. */
  abstract readonly name: string;
  abstract readonly onError: OnError;
  /** Lower runs earlier; the order within one priority is the order of declaration. */
  readonly priority: number = 100;
  /** How long `shouldTrigger` and `execute` may take together, in milliseconds. Never covers a person's wait. */
  readonly timeoutMs: number = 5_000;

  /** Whether the hook has anything to do with this call. A throw counts as a failure of the hook. */
  shouldTrigger(_context: Context): boolean | Promise<boolean> {
    return true;
  }

  /**
   * Does the work. A throw counts as a failure of the hook, and so does an answer that is no result of its point.
   * `signal` aborts at the time-out and when the run is cancelled; a hook that starts anything lasting names the
   * parameter and hands it on. (A signal costs more than a whole dispatch: the engine makes one only for an
   * `execute` that declares two parameters, and the others get one that never aborts.)
   */
  abstract execute(context: Context, signal: AbortSignal): Promise<Result>;
}

/** Runs after the model picked a tool and before it runs; may stop the call or rewrite its arguments. */
export abstract class PreToolUseHook extends Hook<HookContext, PreToolUseResult> {
  override readonly point = 'PreToolUse';
}

/**
 * The confirmation gate's own place: attached to every agent, always last, so that it sees the arguments that will
 * run. It alone may answer `pending` (the request is stored and the hook returns at once) or `stubbed`, and it may not
 * rewrite anything. Its `shouldTrigger` is not asked: the gate sees every call.
 */
export abstract class GateHook extends PreToolUseHook {
  override readonly onError = 'deny';
  override readonly priority = Number.POSITIVE_INFINITY;
}

/** Runs after the tool returned and before the model sees the result; may change that view only. */
export abstract class PostToolUseHook extends Hook<PostToolUseContext, PostToolUseResult> {
  override readonly point = 'PostToolUse';
}

/**
 * Runs once a session, before its first model call; its context reaches the initial prompt. Where it fails with
 * `deny`, the session does not start.
 */
export abstract class SessionStartHook extends Hook<SessionStartContext, SessionStartResult> {
  override readonly point = 'SessionStart';
}

/** Runs when a call has ended, however it ended. Observes only, so a failure never does more than reach the record. */
export abstract class ToolSettledHook extends Hook<ToolSettledContext, ObserverResult> {
  override readonly point = 'ToolSettled';
}
