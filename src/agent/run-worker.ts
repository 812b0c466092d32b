import type { Config } from '../config/config.ts';
import { CountersignError } from '../errors.ts';
import type { AgentId, InvocationId, RunId } from '../ids.ts';
import type { AgentDirectory, AgentSetup } from './agent-directory.ts';
import { awaitSettlement } from './await-settlement.ts';
import { callAgentTool } from './call-agent-tool.ts';
import type { CallScope } from './call-scope.ts';
import { DagExecutor } from './dag-executor.ts';
import { type Executor, failedRun, type RunWork } from './executor.ts';
import { giveUpRun } from './give-up-run.ts';
import { insist } from './insist.ts';
import { actorOfRun, type InvokePorts } from './invoke-ports.ts';
import { invokeTool } from './invoke-tool.ts';
import type { PlanNode } from './plan.ts';
import { faultOfPlanFor } from './plan-check.ts';
import { planningInstructions } from './plan-proposal.ts';
import { PlanningExecutor } from './planning-executor.ts';
import { ReactExecutor } from './react-executor.ts';
import { resumeCall } from './resume-call.ts';
import { LeaseLost, type RunEnd, type RunRecord } from './run-record.ts';
import { RunStop } from './run-stop.ts';
import type { RunFacts, RunSignals, RunStore, SessionStore } from './run-store.ts';
import { type RunWait, RunWaits } from './run-waits.ts';
import type { RunWatcher } from './run-watcher.ts';
import { openingMessages } from './session-opening.ts';
import type { Tool } from './tool.ts';
import type { WorkPlace } from './work-places.ts';

/** Runs that start runs that start runs: no deeper than this. */
export const MAX_DEPTH = 4;

export interface RunWorkerPorts extends InvokePorts {
  readonly organization: Config['organization'];
  readonly parkAfterMs: Config['parkAfterMs'];
  readonly agents: AgentDirectory;
  readonly store: RunStore;
  readonly sessions: SessionStore;
  readonly signals: RunSignals;
  readonly watcher: RunWatcher;
  startChild(input: {
    readonly parent: RunFacts;
    readonly invocation: InvocationId;
    readonly agent: AgentId;
    readonly input: string;
  }): Promise<RunId>;
  cancel(run: RunId): Promise<unknown>;
}

/**
 * Works through one run, from wherever its rows say it stands, to its end. Throws where it cannot end here: this
 * process stops, another one has the run, or a fault that the next worker may not meet. `stop` is aborted at the
 * first fault, so that no other call of the run keeps waiting behind it. The `place` is left while the run only waits.
 */
export async function workThrough(
  record: RunRecord,
  stop: AbortController,
  place: WorkPlace,
  ports: RunWorkerPorts,
): Promise<RunEnd> {
  const progress = await record.load();
  if (progress.cancelRequested) stop.abort(new RunStop('cancelled'));
  const setup = ports.agents.find(progress.facts.agent);
  if (setup === null) {
    await giveUpRun(record, ports);
    return failedRun('agent_unavailable', `The agent "${progress.facts.agent}" cannot be set up.`);
  }
  const { chain } = setup.hooks;
  if (progress.facts.hooks?.revision !== chain.revision) await record.takenUpUnder(chain);
  const waits = new RunWaits({
    parkAfterMs: ports.parkAfterMs,
    clock: ports.clock,
    park: (waited) => parked(record, waited, ports),
    onParked: () => stop.abort(new RunStop('parked')),
    place,
  });
  const scope = scopeOf(progress.facts, setup, { record, waits, signal: stop.signal }, ports);
  const executor = executorFor(progress.facts, setup, scope, ports);
  if (executor === null) {
    await giveUpRun(record, ports);
    return failedRun('agent_unavailable', `The agent "${progress.facts.agent}" has no model.`);
  }
  const end = await endOfWork(executor, {
    progress,
    record,
    scope,
    clock: ports.clock,
    keep: (messages, spoken = null) => insist(ports.clock, () => record.appendMessages(messages, spoken)),
    call: async (proposed, stored, signal) => {
      try {
        const within = { ...scope, signal };
        return await (stored === null
          ? invokeTool(proposed, within, ports)
          : resumeCall(proposed, stored, within, ports));
      } catch (error) {
        if (!(error instanceof RunStop) && !(error instanceof LeaseLost)) {
          ports.logger.error(
            { err: error, run: record.run },
            'a call met a fault; its run is taken up again',
          );
        }
        stop.abort(new RunStop('suspended'));
        throw error;
      }
    },
  });
  // Of what an earlier worker began, a plan that fails may not come to all again; no card of it stays open.
  if (end.status === 'failed') await giveUpRun(record, ports);
  return end;
}

async function endOfWork(executor: Executor, work: RunWork): Promise<RunEnd> {
  try {
    return await executor.run(work);
  } catch (error) {
    if (error instanceof CountersignError) return failedRun(error.code, error.message);
    throw error;
  }
}

/** Whether the run is parked now. A database that cannot be asked says no, and is asked again later. */
async function parked(
  record: RunRecord,
  waits: readonly RunWait[],
  { logger }: Pick<RunWorkerPorts, 'logger'>,
): Promise<boolean> {
  try {
    return await record.park(waits);
  } catch (error) {
    // Parked before, by a transaction whose answer was lost; or another worker's.
    if (error instanceof LeaseLost) return true;
    logger.warn({ err: error, run: record.run }, 'the run cannot be parked yet');
    return false;
  }
}

function scopeOf(
  facts: RunFacts,
  setup: AgentSetup,
  { record, waits, signal }: Pick<CallScope, 'waits' | 'signal'> & { readonly record: RunRecord },
  ports: RunWorkerPorts,
): CallScope {
  const delegates = delegatesOf(facts, setup);
  const delegation: readonly Tool[] =
    delegates.length === 0
      ? []
      : [
          callAgentTool(delegates, {
            store: ports.store,
            watcher: ports.watcher,
            startChild: (child) => ports.startChild({ ...child, parent: facts }),
            cancel: ports.cancel,
            log: record,
            waits,
          }),
        ];
  return {
    run: facts.id,
    parentRun: facts.parent?.run ?? null,
    organization: ports.organization,
    agent: facts.agent,
    person: facts.requester?.id ?? null,
    requesterNamedByAgent: facts.requesterNamedByAgent,
    session: facts.session,
    evaluation: facts.evaluation,
    // Looked up whenever a turn begins or a call is made: servers list their tools late, and list others later.
    tools: () => new Map([...setup.tools(), ...delegation].map((tool) => [tool.name, tool])),
    reach: setup.reach,
    hooks: setup.hooks,
    log: record,
    waits,
    signal,
  };
}

/** Whom a run may hand work to; a plan may also name the agent itself. */
const delegatesOf = (facts: RunFacts, setup: AgentSetup): readonly AgentId[] =>
  facts.executor === 'react' ? setup.config.delegates : [...setup.config.delegates, facts.agent];

function executorFor(
  facts: RunFacts,
  setup: AgentSetup,
  scope: CallScope,
  ports: RunWorkerPorts,
): Executor | null {
  const { model, config } = setup;
  const { limits } = config;
  const dagOf = (plan: readonly PlanNode[]) =>
    new DagExecutor({
      plan,
      limits,
      settlementOf: (call, signal) =>
        awaitSettlement({
          confirmation: call.confirmation,
          confirmations: ports.confirmations,
          signals: ports.signals,
          actor: actorOfRun(scope),
          waits: scope.waits,
          unread: ports.unread,
          clock: ports.clock,
          signal,
        }),
    });
  if (facts.plan !== null) return dagOf(facts.plan);
  if (model === null) return null;
  const opening = (instructions: string) =>
    openingMessages({ instructions, input: facts.input, hooks: setup.hooks }, scope, ports.sessions, ports);
  if (facts.executor === 'react') {
    return new ReactExecutor({ model, limits, opening: () => opening(config.instructions) });
  }
  return new PlanningExecutor({
    model,
    limits,
    opening: () =>
      opening(`${config.instructions}\n\n${planningInstructions(setup.tools(), delegatesOf(facts, setup))}`),
    faultOf: (plan) => faultOfPlanFor(setup, plan),
    executorOf: dagOf,
  });
}
