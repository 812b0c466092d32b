import type { AuditRecorder, NewAuditEvent } from '../audit/audit-event.ts';
import type { HookFailure } from '../hook/hook-failure.ts';
import type { AgentLogger } from './invoke-ports.ts';

/**
 * Logs a hook's failure and records it on the audit log; a throw (the record is down) ends the dispatch as a denial.
 * What the hook said stands on the record alone: it may quote arguments.
 */
export function recordHookFailure(
  { hook, point, reason, detail }: HookFailure,
  { run, actor }: Pick<NewAuditEvent, 'run' | 'actor'>,
  { audit, logger }: { readonly audit: AuditRecorder; readonly logger: AgentLogger },
): Promise<void> {
  logger.warn({ hook, point, reason, agent: actor.name, run }, 'a hook failed');
  return audit.record({
    kind: 'hook.failed',
    confirmation: null,
    run,
    actor,
    data: { hook, point, reason, detail },
  });
}
