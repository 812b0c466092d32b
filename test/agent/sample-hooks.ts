import { z } from 'zod';
import { PostToolUseHook, PreToolUseHook, SessionStartHook, ToolSettledHook } from '../../src/hook/hook.ts';
import type {
  HookContext,
  PostToolUseContext,
  SessionStartContext,
  ToolSettledContext,
} from '../../src/hook/hook-context.ts';
import type { AnyHookKind } from '../../src/hook/hook-kind.ts';

/** What the hooks of the tests saw. */
export interface Seen {
  readonly settled: ToolSettledContext[];
  readonly results: PostToolUseContext[];
  readonly sessions: SessionStartContext[];
}

const options = z.strictObject({});

/** Hooks that do what their names say, and note what they saw. */
export function sampleHooks(seen: Seen): AnyHookKind[] {
  class DenyLog extends PreToolUseHook {
    readonly name = 'deny-log';
    readonly onError = 'deny';
    override shouldTrigger(context: HookContext) {
      return context.toolName === 'oa__log';
    }
    async execute() {
      return { allow: false as const, error: 'Logging is not for agents.' };
    }
  }
  class RewritePayee extends PreToolUseHook {
    readonly name = 'rewrite-payee';
    readonly onError = 'deny';
    override shouldTrigger(context: HookContext) {
      return context.toolArgs.payee === 'acme';
    }
    async execute(context: HookContext) {
      return {
        allow: true as const,
        modifiedArgs: { ...context.toolArgs, payee: 'Acme Ltd' },
        sideEffects: ['spelt the payee out'],
      };
    }
  }
  class Redact extends PostToolUseHook {
    readonly name = 'redact';
    readonly onError = 'deny';
    async execute(context: PostToolUseContext) {
      seen.results.push(context);
      return { modifiedResult: context.toolResult.replaceAll('10.00', '[amount]') };
    }
  }
  class Greet extends SessionStartHook {
    readonly name = 'greet';
    readonly onError = 'deny';
    async execute(context: SessionStartContext) {
      seen.sessions.push(context);
      return { context: `Today you act for ${context.userId}.` };
    }
  }
  class Note extends ToolSettledHook {
    readonly name = 'note';
    readonly onError = 'continue';
    async execute(context: ToolSettledContext) {
      seen.settled.push(context);
      return {};
    }
  }
  return [DenyLog, RewritePayee, Redact, Greet, Note].map((Hook) => ({
    name: new Hook().name,
    options,
    create: () => new Hook(),
  }));
}
