import type { AuditKind, NewAuditEvent } from '../audit/audit-event.ts';
import type { ConfirmationId, InvocationId, RunId } from '../ids.ts';
import { digestOfCall, type ExecutionScope, type OpenCall } from './call-scope.ts';
import type { SettledStatus } from './run-record.ts';

/** What the audit log says about the end of a call; stored in one transaction with it, so once. */
export const callEndedEvent = (
  call: OpenCall,
  scope: ExecutionScope,
  ending: { readonly status: SettledStatus; readonly code: string | null; readonly durationMs: number },
): NewAuditEvent =>
  endedEvent({
    run: scope.run,
    agent: scope.agent,
    confirmation: call.confirmation,
    invocation: call.id,
    tool: call.toolName,
    toolVersion: call.tool?.version ?? null,
    argsDigest: call.tool === null ? null : digestOfCall(call, scope),
    evaluation: scope.evaluation,
    ...ending,
  });

/** The same for a call that only its row tells about. */
export function endedEvent(end: {
  readonly run: RunId;
  readonly agent: string;
  readonly confirmation: ConfirmationId | null;
  readonly invocation: InvocationId;
  readonly tool: string;
  readonly toolVersion: string | null;
  readonly argsDigest: string | null;
  readonly status: SettledStatus;
  readonly code: string | null;
  /** Null where nobody measured it to the end. */
  readonly durationMs: number | null;
  readonly evaluation: boolean;
}): NewAuditEvent {
  const { run, agent, confirmation, ...data } = end;
  return {
    kind: KINDS[end.status],
    confirmation,
    run,
    actor: { type: 'agent', id: agent, name: agent },
    data,
  };
}

const KINDS = {
  blocked: 'call.denied',
  stubbed: 'tool.stubbed',
  succeeded: 'tool.executed',
  failed: 'tool.executed',
  unknown: 'tool.executed',
} as const satisfies Record<SettledStatus, AuditKind>;
