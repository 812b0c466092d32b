import type { AuditRecorder } from '../audit/audit-event.ts';
import type { Clock } from '../clock.ts';
import type { ArgumentMask } from '../confirmation/argument-mask.ts';
import type { Actor, ConfirmationService } from '../confirmation/confirmation-service.ts';
import type { HookFailure } from '../hook/hook-failure.ts';
import type { ConfirmationId } from '../ids.ts';
import type { CallScope } from './call-scope.ts';
import { recordHookFailure } from './record-hook-failure.ts';

/** What `invoke-tool` reaches beyond the run itself. */
export interface InvokePorts {
  readonly confirmations: Pick<ConfirmationService, 'get' | 'wait' | 'claim' | 'recordOutcome' | 'cancel'>;
  readonly audit: AuditRecorder;
  /** Requests that calls here wait for and that could not be read at the last try; kept by those who wait. */
  readonly unread: Set<ConfirmationId>;
  /** What hooks are not shown once a call has ended. */
  readonly mask: ArgumentMask;
  readonly clock: Clock;
  readonly logger: AgentLogger;
}

/** The part of the service's log that runs write to. */
export interface AgentLogger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export const actorOfRun = (scope: Pick<CallScope, 'run' | 'agent'>): Actor => ({
  type: 'run',
  run: scope.run,
  agent: scope.agent,
});

/** The same as `recordHookFailure`, for a call of a run. */
export const hookFailureRecorder =
  (ports: Pick<InvokePorts, 'audit' | 'logger'>, { run, agent }: Pick<CallScope, 'run' | 'agent'>) =>
  (failure: HookFailure): Promise<void> =>
    recordHookFailure(failure, { run, actor: { type: 'agent', id: agent, name: agent } }, ports);
