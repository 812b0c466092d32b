import type { NewAuditEvent } from '../audit/audit-event.ts';
import type { HookChain } from '../hook/hook-chain.ts';
import type { AgentId, RunId } from '../ids.ts';
import type { JsonObject } from '../json.ts';
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
    hooks: facts.hooks && hooksData(facts.hooks),
    apiKey: facts.apiKeyId,
  },
});

/** What the audit log says where a run goes on under other hooks than before; stored in one transaction with that. */
export const hooksChangedEvent = (run: RunId, agent: AgentId, hooks: HookChain): NewAuditEvent => ({
  kind: 'hooks.changed',
  ...subjectOf(run, agent),
  data: { hooks: hooksData(hooks) },
});

/** What the audit log says about a run's end; stored in one transaction with it. */
export const runFinishedEvent = (run: RunId, agent: AgentId, { status, error }: RunEnd): NewAuditEvent => ({
  kind: 'run.finished',
  ...subjectOf(run, agent),
  data: { status, code: error?.code ?? null },
});

const hooksData = ({ revision, hooks }: HookChain): JsonObject => ({
  revision,
  chain: hooks.map(({ point, name }) => `${point}/${name}`),
});

const subjectOf = (run: RunId, agent: AgentId) => ({
  confirmation: null,
  run,
  actor: { type: 'agent' as const, id: agent, name: agent },
});
