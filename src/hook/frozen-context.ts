import { frozenJson } from './frozen-json.ts';
import type { AskMetadata, HookContext, HookMetadata } from './hook-context.ts';

/**
 * What the engine knows about a call, copied out of the reach of every hook: one that could unset
 * `requiresConfirmation` would switch off the gate behind it. Throws where the call cannot be decided for want of a
 * tool, arguments or metadata. Field by field, because freezing a spread copy costs ten times as much.
 */
export function frozenContext(context: HookContext): HookContext {
  return Object.freeze(callOf(context));
}

/** The same, with the fields that a point adds to those of a call. They have to be frozen already. */
export function frozenContextWith<Added extends object>(
  context: HookContext,
  added: Added,
): HookContext & Added {
  return Object.freeze(Object.assign(callOf(context), added));
}

function callOf(context: HookContext): HookContext {
  if (typeof context.toolName !== 'string' || typeof context.metadata !== 'object') {
    throw new TypeError('A call without a tool name and metadata cannot be decided.');
  }
  return {
    toolName: context.toolName,
    toolArgs: frozenJson(context.toolArgs, 'args'),
    agentId: context.agentId,
    userId: context.userId,
    sessionId: context.sessionId,
    runId: context.runId,
    metadata: frozenMetadata(context.metadata),
  };
}

function frozenMetadata(metadata: HookMetadata): HookMetadata {
  return Object.freeze({
    organization: metadata.organization,
    conversation: metadata.conversation,
    connector: metadata.connector,
    toolVersion: metadata.toolVersion,
    writes: metadata.writes,
    requiresConfirmation: metadata.requiresConfirmation,
    invocationId: metadata.invocationId,
    callId: metadata.callId,
    parentRunId: metadata.parentRunId,
    evaluation: metadata.evaluation,
    requesterNamedByAgent: metadata.requesterNamedByAgent ?? false,
    ask: metadata.ask && frozenAsk(metadata.ask),
  });
}

const frozenAsk = (ask: AskMetadata): AskMetadata =>
  Object.freeze({ ...ask, metadata: frozenJson(ask.metadata, 'metadata') });
