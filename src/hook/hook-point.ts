import type { z } from 'zod';
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
import { observerResult, postToolUseResult, preToolUseResult, sessionStartResult } from './hook-results.ts';

/**
 * `directive` steers (and may patch), `transform` replaces or adds a value, `observer` does neither. Directives and
 * transforms run one after the other in priority order; observers run independently of each other.
 */
export type HookClass = 'directive' | 'transform' | 'observer';

/**
 * A place in the life of a run at which hooks are called: declared as a value, so that a further point is a
 * declaration in the list below and one dispatch at its real boundary. A name alone creates no point.
 */
export interface HookPoint<Context extends object, Result> {
  readonly name: string;
  readonly hookClass: HookClass;
  /** What an answer has to look like; anything else is a failure of the hook. */
  readonly result: z.ZodType<Result>;
  /**
   * The fields of the context that an answer may replace for the hooks after it and for the engine, keyed by the
   * member of the result that replaces them. No other field can change.
   */
  readonly writable: Readonly<Record<string, keyof Context & string>>;
  /**
   * What a failing hook does here. `as-declared`: what its `onError` says. `record`: nothing but reach the record,
   * so a hook that declares `onError: 'deny'` is refused at start instead of being disappointed later.
   */
  readonly failureRule: 'as-declared' | 'record';
}

export const SESSION_START: HookPoint<SessionStartContext, SessionStartResult> = {
  name: 'SessionStart',
  hookClass: 'transform',
  result: sessionStartResult,
  writable: {},
  failureRule: 'as-declared',
};

export const PRE_TOOL_USE: HookPoint<HookContext, PreToolUseResult> = {
  name: 'PreToolUse',
  hookClass: 'directive',
  result: preToolUseResult,
  writable: { modifiedArgs: 'toolArgs' },
  failureRule: 'as-declared',
};

export const POST_TOOL_USE: HookPoint<PostToolUseContext, PostToolUseResult> = {
  name: 'PostToolUse',
  hookClass: 'transform',
  result: postToolUseResult,
  writable: { modifiedResult: 'toolResult' },
  failureRule: 'as-declared',
};

export const TOOL_SETTLED: HookPoint<ToolSettledContext, ObserverResult> = {
  name: 'ToolSettled',
  hookClass: 'observer',
  result: observerResult,
  writable: {},
  failureRule: 'record',
};

/** A point whose context and result only its own dispatch needs to know. */
// biome-ignore lint/suspicious/noExplicitAny: the list holds points of different contexts and results.
export type AnyHookPoint = HookPoint<any, any>;

/** Every point there is, in the order in which a call meets them. */
export const HOOK_POINTS: readonly AnyHookPoint[] = [
  SESSION_START,
  PRE_TOOL_USE,
  POST_TOOL_USE,
  TOOL_SETTLED,
];
