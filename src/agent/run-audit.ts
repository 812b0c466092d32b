import type { NewAuditEvent } from '../audit/audit-event.ts';
import type { AgentId, RunId } from '../ids.ts';
import type { RunEnd } from './run-record.ts';
import type { RunFacts } from './run-store.ts';

/** What the audit log says about a run's beginning; stored in one transaction with the run. */
export const runStartedEvent = (facts: RunFacts): NewAuditEvent => ({
  kind: 'run.started',
  ...subjectOf(facts.id, facts.agent),
  data: {
    agent: facts.agent,
    executor: facts.executor,
    session: facts.session,
    requester: facts.requester?.id ?? null,
    parentRun: facts.parent?.run ?? null,
    evaluation: facts.evaluation,
    apiKey: facts.apiKeyId,
  },
});

/** What the audit log says about a run's end; stored in one transaction with it. */
export const runFinishedEvent = (run: RunId, agent: AgentId, { status, error }: RunEnd): NewAuditEvent => ({
  kind: 'run.finished',
  ...subjectOf(run, agent),
  data: { status, code: error?.code ?? null },
});

const subjectOf = (run: RunId, agent: AgentId) => ({
  confirmation: null,
  run,
  actor: { type: 'agent' as const, id: agent, name: agent },
});
