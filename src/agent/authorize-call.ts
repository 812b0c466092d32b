import type { AuditKind } from '../audit/audit-event.ts';
import type { Clock } from '../clock.ts';
import type { AgentConfig, Config } from '../config/config.ts';
import type { ConfirmationService } from '../confirmation/confirmation-service.ts';
import { digestOf } from '../confirmation/digest.ts';
import { CountersignError } from '../errors.ts';
import { dispatchPreToolUse, type PreToolUseOutcome } from '../hook/dispatch-pre-tool-use.ts';
import type { HookContext } from '../hook/hook-context.ts';
import { newInvocationId, type PersonId } from '../ids.ts';
import type { JsonObject } from '../json.ts';
import type { AgentDirectory } from './agent-directory.ts';
import { checkRewritten } from './call-arguments.ts';
import type { AgentLogger, InvokePorts } from './invoke-ports.ts';
import { BLOCK_MESSAGES } from './observation.ts';
import { recordHookFailure } from './record-hook-failure.ts';
import type { AuthorizeAnswer, AuthorizeCall, CallAuthorizer } from './run-service.ts';
import { findPerson } from './runs.ts';
import type { Tool } from './tool.ts';
import type { ToolCatalog } from './tool-catalog.ts';

export interface AuthorizerPorts {
  readonly config: Pick<Config, 'organization' | 'people' | 'agents'>;
  readonly catalog: ToolCatalog;
  readonly agents: AgentDirectory;
  readonly confirmations: Pick<ConfirmationService, 'get' | 'findByIdempotencyKey'>;
  readonly audit: InvokePorts['audit'];
  readonly clock: Clock;
  readonly logger: AgentLogger;
}

/** Outside agents' tools have no schema here: only what JSON itself allows is checked. */
const ANY_ARGUMENTS: Pick<Tool, 'validate'> = { validate: () => ({ kind: 'valid' }) };

/**
 * Answers outside agents through the hooks and the gate that our own runs go through. Whatever cannot be asked or
 * written down is a denial: an agent is never told "allow" that is not on the record.
 */
export function createCallAuthorizer(ports: AuthorizerPorts): CallAuthorizer {
  return {
    async authorize(call) {
      const tool = ports.catalog.find(call.tool);
      if (tool === null && ports.catalog.isUnlisted(call.tool)) {
        throw new CountersignError('unavailable', `The server of the tool "${call.tool}" is not there yet.`);
      }
      if (tool === null && !ports.catalog.isExternal(call.tool)) {
        throw new CountersignError('unknown_tool', `There is no tool named "${call.tool}".`);
      }
      const check = tool?.validate(call.args);
      if (check?.kind === 'invalid') throw new CountersignError('invalid_arguments', check.message);
      const agent = ports.config.agents.find((candidate) => candidate.id === call.agent) ?? null;
      const context = contextOf(call, tool, requesterOf(call, agent, ports), ports.config.organization);

      const verdict = await judge(call, context, tool, agent, ports);
      switch (verdict.kind) {
        case 'allowed':
          return allow(call, verdict.args, tool, ports);
        case 'pending':
          return pending(verdict.confirmationId, context, ports);
        case 'denied':
          if (verdict.failure) await throwOnConflict(call, ports);
          return deny(call, verdict, tool, ports);
        case 'stubbed':
          return deny(call, unavailable(), tool, ports);
      }
    },
  };
}

async function judge(
  call: AuthorizeCall,
  context: HookContext,
  tool: Tool | null,
  agent: AgentConfig | null,
  { agents, audit, clock, logger }: AuthorizerPorts,
): Promise<PreToolUseOutcome> {
  const registry = agents.hooksFor(agent);
  if (registry === null) return unavailable();
  return dispatchPreToolUse({
    registry,
    context,
    validateArgs: (args) => checkRewritten(tool ?? ANY_ARGUMENTS, args),
    // A caller that hangs up does not stop a request half way through.
    signal: new AbortController().signal,
    clock,
    onHookFailed: (failure) =>
      recordHookFailure(failure, { run: null, actor: actorOf(call) }, { audit, logger }),
  });
}

async function allow(
  call: AuthorizeCall,
  args: JsonObject,
  tool: Tool | null,
  ports: AuthorizerPorts,
): Promise<AuthorizeAnswer> {
  const argsDigest = digestOfCall(call, args, tool, ports);
  try {
    await record('call.allowed', call, { argsDigest }, ports);
  } catch (error) {
    ports.logger.error({ err: error, tool: call.tool }, 'an allowed call cannot be recorded; it is denied');
    return {
      kind: 'deny',
      code: 'gate_unavailable',
      message: BLOCK_MESSAGES.gate_unavailable,
      retryAfter: null,
      confirmationId: null,
    };
  }
  return { kind: 'allow', args, argsDigest };
}

async function pending(
  confirmationId: Extract<PreToolUseOutcome, { kind: 'pending' }>['confirmationId'],
  context: HookContext,
  { confirmations }: AuthorizerPorts,
): Promise<AuthorizeAnswer> {
  const request = await confirmations.get(confirmationId);
  // Each ask has an id of its own: another one on the request means that it was there before us.
  const created = request?.invocationId === context.metadata.invocationId;
  return { kind: 'pending', confirmationId, created };
}

async function deny(
  call: AuthorizeCall,
  { code, message, retryAfter, confirmationId }: Extract<PreToolUseOutcome, { kind: 'denied' }>,
  tool: Tool | null,
  ports: AuthorizerPorts,
): Promise<AuthorizeAnswer> {
  const argsDigest = digestOfCall(call, call.args, tool, ports);
  await record('call.denied', call, { argsDigest, code, status: 'blocked' }, ports, confirmationId);
  return { kind: 'deny', code, message, retryAfter, confirmationId };
}

/** Two requests with one key at the same moment: the gate refused ours because the other body came first. */
async function throwOnConflict(call: AuthorizeCall, { confirmations }: AuthorizerPorts): Promise<void> {
  if (call.idempotencyKey === null) return;
  const earlier = await confirmations
    .findByIdempotencyKey(call.apiKeyId, call.idempotencyKey)
    .catch(() => null);
  if (earlier === null || earlier.bodyDigest === call.bodyDigest) return;
  throw new CountersignError(
    'idempotency_conflict',
    'This Idempotency-Key was used with another body; use a new one.',
  );
}

function requesterOf(
  call: AuthorizeCall,
  agent: AgentConfig | null,
  { config }: Pick<AuthorizerPorts, 'config'>,
): PersonId {
  const id = call.requester ?? agent?.owner ?? null;
  if (id === null) {
    throw new CountersignError(
      'unknown_requester',
      `Name a requester: the agent "${call.agent}" has no owner.`,
    );
  }
  if (findPerson(config.people, id) === null) {
    throw new CountersignError('unknown_requester', `There is no person "${id}".`);
  }
  return id;
}

const contextOf = (
  call: AuthorizeCall,
  tool: Tool | null,
  requester: PersonId,
  organization: string,
): HookContext => ({
  toolName: call.tool,
  toolArgs: call.args,
  agentId: call.agent,
  userId: requester,
  sessionId: call.session,
  runId: null,
  metadata: {
    organization,
    conversation: null,
    connector: tool?.connector ?? null,
    toolVersion: tool?.version ?? null,
    writes: tool?.writes ?? true,
    requiresConfirmation: tool?.requiresConfirmation ?? false,
    invocationId: newInvocationId(),
    callId: call.callId,
    parentRunId: null,
    evaluation: false,
    ask: {
      apiKeyId: call.apiKeyId,
      idempotencyKey: call.idempotencyKey,
      bodyDigest: call.bodyDigest,
      requesterNamedByAgent: call.requester !== null,
      summary: call.summary,
      metadata: call.metadata,
    },
  },
});

const digestOfCall = (
  call: AuthorizeCall,
  args: JsonObject,
  tool: Tool | null,
  { config }: Pick<AuthorizerPorts, 'config'>,
): string =>
  digestOf({ organization: config.organization, tool: call.tool, toolVersion: tool?.version ?? null, args });

const record = (
  kind: Extract<AuditKind, 'call.allowed' | 'call.denied'>,
  call: AuthorizeCall,
  data: JsonObject,
  { audit }: Pick<AuthorizerPorts, 'audit'>,
  confirmation: string | null = null,
): Promise<void> =>
  audit.record({
    kind,
    confirmation,
    run: null,
    actor: actorOf(call),
    data: { tool: call.tool, agent: call.agent, session: call.session, callId: call.callId, ...data },
  });

const actorOf = (call: AuthorizeCall) => ({ type: 'key' as const, id: call.apiKeyId, name: call.agent });

const unavailable = (): Extract<PreToolUseOutcome, { kind: 'denied' }> => ({
  kind: 'denied',
  code: 'gate_unavailable',
  message: BLOCK_MESSAGES.gate_unavailable,
  retryAfter: null,
  hookName: '',
  failure: true,
  confirmationId: null,
  sideEffects: [],
});
