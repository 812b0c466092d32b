import type { Config } from '../config/config.ts';
import { CountersignError } from '../errors.ts';
import type { AgentId, InvocationId, RunId } from '../ids.ts';
import type { AgentDirectory, AgentSetup } from './agent-directory.ts';
import { awaitSettlement } from './await-settlement.ts';
import { callAgentTool } from './call-agent-tool.ts';
import type { CallScope } from './call-scope.ts';
import { DagExecutor } from './dag-executor.ts';
import { type Executor, failedRun } from './executor.ts';
import { giveUpRun } from './give-up-run.ts';
import { actorOfRun, type InvokePorts } from './invoke-ports.ts';
import { invokeTool } from './invoke-tool.ts';
import { ReactExecutor } from './react-executor.ts';
import { resumeCall } from './resume-call.ts';
import { LeaseLost, type RunEnd, type RunRecord } from './run-record.ts';
import { RunStop } from './run-stop.ts';
import type { RunFacts, RunSignals, RunStore, SessionStore } from './run-store.ts';
import type { RunWatcher } from './run-watcher.ts';
import { openingMessages } from './session-opening.ts';
import type { Tool } from './tool.ts';

/** Runs that start runs that start runs: no deeper than this. */
export const MAX_DEPTH = 4;

export interface RunWorkerPorts extends InvokePorts {
  readonly organization: Config['organization'];
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
 * first fault, so that no other call of the run keeps waiting behind it.
 */
export async function workThrough(
  record: RunRecord,
  stop: AbortController,
  ports: RunWorkerPorts,
): Promise<RunEnd> {
  const progress = await record.load();
  if (progress.cancelRequested) stop.abort(new RunStop('cancelled'));
  const setup = ports.agents.find(progress.facts.agent);
  if (setup === null) {
    await giveUpRun(record, ports);
    return failedRun('agent_unavailable', `The agent "${progress.facts.agent}" cannot be set up.`);
  }
  const scope = scopeOf(progress.facts, setup, record, stop.signal, ports);
  const executor = executorFor(progress.facts, setup, scope, ports);
  if (executor === null) {
    await giveUpRun(record, ports);
    return failedRun('agent_unavailable', `The agent "${progress.facts.agent}" has no model.`);
  }
  try {
    return await executor.run({
      progress,
      record,
      scope,
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
  } catch (error) {
    if (error instanceof CountersignError) return failedRun(error.code, error.message);
    throw error;
  }
}

function scopeOf(
  facts: RunFacts,
  setup: AgentSetup,
  record: RunRecord,
  signal: AbortSignal,
  ports: RunWorkerPorts,
): CallScope {
  const delegates = delegatesOf(facts, setup);
  const tools: Tool[] = [...setup.tools];
  if (delegates.length > 0) {
    tools.push(
      callAgentTool(delegates, {
        store: ports.store,
        watcher: ports.watcher,
        startChild: (child) => ports.startChild({ ...child, parent: facts }),
        cancel: ports.cancel,
        log: record,
      }),
    );
  }
  return {
    run: facts.id,
    parentRun: facts.parent?.run ?? null,
    organization: ports.organization,
    agent: facts.agent,
    person: facts.requester?.id ?? null,
    requesterNamedByAgent: facts.requesterNamedByAgent,
    session: facts.session,
    evaluation: facts.evaluation,
    tools: new Map(tools.map((tool) => [tool.name, tool])),
    hooks: setup.hooks,
    log: record,
    signal,
  };
}

/** Whom a run may hand work to; a plan may also name the agent itself. */
const delegatesOf = (facts: RunFacts, setup: AgentSetup): readonly AgentId[] =>
  facts.plan === null ? setup.config.delegates : [...setup.config.delegates, facts.agent];

function executorFor(
  facts: RunFacts,
  setup: AgentSetup,
  scope: CallScope,
  ports: RunWorkerPorts,
): Executor | null {
  if (facts.plan !== null) {
    return new DagExecutor({
      plan: facts.plan,
      settlementOf: (call, signal) =>
        awaitSettlement({
          confirmation: call.confirmation,
          confirmations: ports.confirmations,
          signals: ports.signals,
          actor: actorOfRun(scope),
          clock: ports.clock,
          signal,
        }),
    });
  }
  if (setup.model === null) return null;
  return new ReactExecutor({
    model: setup.model,
    maxTurns: setup.config.maxTurns,
    opening: () =>
      openingMessages(
        { instructions: setup.config.instructions, input: facts.input, hooks: setup.hooks },
        scope,
        ports.sessions,
        ports,
      ),
  });
}
