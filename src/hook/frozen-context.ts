import { frozenJson } from './frozen-json.ts';
import type { HookContext, HookMetadata } from './hook-context.ts';

/**
 * What the engine knows about a call, copied out of the reach of every hook: one that could unset
 * `requiresConfirmation` would switch off the gate behind it. Throws where the call cannot be decided for want of a
 * tool, arguments or metadata.
 */
export function frozenContext<Context extends HookContext>(context: Context): Context {
  if (typeof context.toolName !== 'string' || typeof context.metadata !== 'object') {
    throw new TypeError('A call without a tool name and metadata cannot be decided.');
  }
  return Object.freeze({
    ...context,
    toolArgs: frozenJson(context.toolArgs, 'args'),
    metadata: frozenMetadata(context.metadata),
  });
}

function frozenMetadata(metadata: HookMetadata): HookMetadata {
  const { ask } = metadata;
  return Object.freeze({
    ...metadata,
    ask: ask && Object.freeze({ ...ask, metadata: frozenJson(ask.metadata, 'metadata') }),
  });
}
