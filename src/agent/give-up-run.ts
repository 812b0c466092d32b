import type { OwnReason } from '../confirmation/own-reason.ts';
import type { ConfirmationId, RunId } from '../ids.ts';
import { endedEvent } from './call-audit.ts';
import { actorOfRun, type InvokePorts } from './invoke-ports.ts';
import { BLOCK_MESSAGES, blockedObservation, unknownObservation } from './observation.ts';
import type { InvocationError, RunRecord, SettledStatus, StoredInvocation } from './run-record.ts';
import type { RunFacts, RunStore } from './run-store.ts';
import { NOT_SENT } from './send-window.ts';

export interface GiveUpPorts extends InvokePorts {
  readonly store: Pick<RunStore, 'childOf'>;
  cancel(run: RunId): Promise<unknown>;
}

/**
 * Brings the open calls of a run that will not go on to their ends: what people are asked is withdrawn, delegates are
 * stopped, and what may have been sent is unknown. Nothing is sent. May be repeated.
 */
export async function giveUpRun(record: RunRecord, ports: GiveUpPorts): Promise<void> {
  const { facts, invocations } = await record.load();
  for (const invocation of invocations) {
    if (invocation.phase === 'settled') continue;
    const confirmation = invocation.confirmation ?? (await record.confirmationOf(invocation.id));
    const end = endOf(invocation);
    if (confirmation !== null) await withdraw(confirmation, end.status, facts, ports);
    const child = await ports.store.childOf(invocation.id);
    if (child !== null) await ports.cancel(child);
    await record.settled({
      id: invocation.id,
      confirmation,
      sideEffects: invocation.sideEffects,
      ...end,
      event: endedEvent({
        run: facts.id,
        agent: facts.agent,
        confirmation,
        invocation: invocation.id,
        tool: invocation.tool,
        toolVersion: null,
        argsDigest: null,
        status: end.status,
        code: end.error?.code ?? null,
        durationMs: null,
        evaluation: facts.evaluation,
      }),
    });
  }
}

interface CallEnd {
  readonly status: Exclude<SettledStatus, 'stubbed'>;
  readonly error: InvocationError | null;
  readonly view: string;
}

function endOf({ phase, status, error }: StoredInvocation): CallEnd {
  if (phase === 'executed' && (status === 'succeeded' || status === 'failed' || status === 'unknown')) {
    return { status, error, view: unknownObservation('The run was given up.', []) };
  }
  if (phase === 'executing' || phase === 'executed') {
    const message = 'The run was given up while the tool was running.';
    return { status: 'unknown', error: { code: 'unknown', message }, view: unknownObservation(message, []) };
  }
  const blocked = { code: 'cancelled', message: BLOCK_MESSAGES.cancelled } as const;
  return {
    status: 'blocked',
    error: blocked,
    view: blockedObservation({ ...blocked, reason: null, retryAfter: null }),
  };
}

/** A grant that was claimed and not noted as executing was not sent: whoever claimed it cannot note it any more. */
async function withdraw(
  id: ConfirmationId,
  status: CallEnd['status'],
  facts: RunFacts,
  { confirmations }: GiveUpPorts,
): Promise<void> {
  const actor = actorOfRun({ run: facts.id, agent: facts.agent });
  await confirmations.cancel({ id, actor, reason: 'run_ended' satisfies OwnReason });
  const outcome = status === 'blocked' ? 'failed' : status;
  const detail = status === 'blocked' ? NOT_SENT : 'the run was given up';
  await confirmations.recordOutcome({ id, actor, status: outcome, detail });
}
