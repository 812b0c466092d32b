import { CountersignError } from '../errors.ts';
import type { AgentId, InvocationId, RunId } from '../ids.ts';
import { compileArguments } from './argument-schema.ts';
import {
  CALL_AGENT,
  CALL_AGENT_DESCRIPTION,
  CALL_AGENT_VERSION,
  callAgentParameters,
} from './call-agent-definition.ts';
import type { InvocationLog } from './run-record.ts';
import { throwIfSuspended } from './run-stop.ts';
import type { RunStore } from './run-store.ts';
import type { RunWaits } from './run-waits.ts';
import type { RunWatcher } from './run-watcher.ts';
import type { Tool, ToolExecution, ToolOutcome } from './tool.ts';

export interface DelegatePorts {
  readonly store: Pick<RunStore, 'find' | 'statusOf' | 'childOf'>;
  readonly watcher: RunWatcher;
  /** Starts the delegate's run under this invocation, or answers the one that is there already. */
  startChild(input: {
    readonly invocation: InvocationId;
    readonly agent: AgentId;
    readonly input: string;
  }): Promise<RunId>;
  cancel(run: RunId): Promise<unknown>;
  readonly log: Pick<InvocationLog, 'delegateWaiting'>;
  readonly waits: RunWaits;
}

/**
 * The tool `call_agent`: a delegate's run of its own, with its own hooks, waited for. The calling run reads `waiting`
 * while the delegate's does. Called again under the same invocation, after a restart, it joins the run that exists.
 */
export const callAgentTool = (delegates: readonly AgentId[], ports: DelegatePorts): Tool => {
  const parameters = callAgentParameters(delegates);
  // Compiled where a call comes: most runs hand nothing on, and compiling takes longer than resuming one.
  let check: Tool['validate'] | null = null;
  return {
    name: CALL_AGENT,
    description: CALL_AGENT_DESCRIPTION,
    parameters,
    version: CALL_AGENT_VERSION,
    connector: null,
    // The delegate's own calls are gated one by one.
    writes: false,
    idempotent: true,
    joinsRunning: true,
    requiresConfirmation: false,
    timeoutMs: null,
    decisiveFields: [],
    validate(args) {
      check ??= compileArguments(parameters);
      return check(args);
    },
    execute: (call) => runDelegate(call, ports),
  };
};

async function runDelegate(
  { args, invocationId, unwanted }: ToolExecution,
  ports: DelegatePorts,
): Promise<ToolOutcome> {
  let child: RunId | null;
  try {
    child = await ports.store.childOf(invocationId);
    if (child === null && unwanted.aborted) {
      throwIfSuspended(unwanted);
      return { kind: 'failed', code: 'cancelled', message: 'The other agent was not started.', result: null };
    }
    child ??= await ports.startChild({
      invocation: invocationId,
      agent: String(args.agent) as AgentId,
      input: String(args.input),
    });
  } catch (error) {
    if (!(error instanceof CountersignError)) throw error;
    return { kind: 'failed', code: error.code, message: error.message, result: null };
  }
  await followToEnd(child, invocationId, unwanted, ports);
  return outcomeOf(child, ports);
}

async function followToEnd(
  child: RunId,
  invocation: InvocationId,
  unwanted: AbortSignal,
  ports: DelegatePorts,
): Promise<void> {
  const subscription = ports.watcher.subscribe(child);
  let shownWaiting = false;
  let cancelled = false;
  try {
    for (;;) {
      const status = await ports.store.statusOf(child);
      const waiting = status === 'waiting';
      if (status !== 'running' && !waiting) return;
      if (waiting !== shownWaiting) {
        await ports.log.delegateWaiting({ id: invocation, run: child, waiting });
        shownWaiting = waiting;
      }
      throwIfSuspended(unwanted);
      if (unwanted.aborted && !cancelled) {
        cancelled = true;
        await ports.cancel(child);
      }
      const changed = () => subscription.changed(cancelled ? new AbortController().signal : unwanted);
      await (waiting && !cancelled
        ? ports.waits.during({ kind: 'delegate', run: child }, unwanted, changed)
        : ports.waits.beside(changed));
    }
  } finally {
    subscription.close();
  }
}

async function outcomeOf(child: RunId, { store }: DelegatePorts): Promise<ToolOutcome> {
  const run = await store.find(child);
  if (run?.status === 'succeeded') return { kind: 'succeeded', result: run.output };
  return {
    kind: 'failed',
    code: run?.status === 'cancelled' ? 'cancelled' : 'tool_failed',
    message: run?.error?.message ?? 'The run of the other agent was cancelled.',
    result: null,
  };
}
