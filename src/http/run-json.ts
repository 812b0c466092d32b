import { planJson } from '../agent/plan-body.ts';
import type { Run, RunEvent } from '../agent/run.ts';
import type { JsonObject } from '../json.ts';
import type { RunJson } from './schemas/run-schema.ts';

/** A run as the contract shows it. */
export const runJson = (run: Run): RunJson => ({
  id: run.id,
  agent: run.agent,
  executor: run.executor,
  status: run.status,
  input: run.input,
  output: run.output,
  error: run.error,
  session: run.session,
  requester: run.requester ? { id: run.requester.id, name: run.requester.name } : null,
  parentRun: run.parentRun,
  plan: run.plan === null ? null : planJson(run.plan),
  childRuns: [...run.childRuns],
  evaluation: run.evaluation,
  invocations: run.invocations.map((invocation) => ({ ...invocation })),
  createdAt: run.createdAt.toISOString(),
  finishedAt: run.finishedAt?.toISOString() ?? null,
});

/** The `data:` of one server-sent event. */
export const runEventJson = ({ seq, kind, at, data }: RunEvent): JsonObject => ({
  seq,
  kind,
  at: at.toISOString(),
  data,
});
