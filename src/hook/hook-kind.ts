import type { z } from 'zod';
import type { PostToolUseHook, PreToolUseHook, SessionStartHook, ToolSettledHook } from './hook.ts';
import type { HookPorts } from './hook-ports.ts';

export type AnyHook = PreToolUseHook | PostToolUseHook | SessionStartHook | ToolSettledHook;

/** What a hook file offers: its declared name, the schema of its options, and how to build one. */
export interface HookKind<Options> {
  readonly name: string;
  /**
   * A strict zod object; every option has a default or is required in words. What it gives has to pass it again
   * unchanged: options are checked when the configuration is read and when the hook is built.
   */
  readonly options: z.ZodType<Options>;
  create(options: Options, ports: HookPorts): AnyHook;
}

// biome-ignore lint/suspicious/noExplicitAny: the list holds kinds of different options; each checks its own.
export type AnyHookKind = HookKind<any>;
