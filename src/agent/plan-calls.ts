import { setImmediate } from 'node:timers/promises';
import type { RunLimits } from '../config/config.ts';
import { faultOfArguments } from '../confirmation/arguments.ts';
import { newInvocationId } from '../ids.ts';
import type { JsonValue } from '../json.ts';
import { CALL_AGENT } from './call-agent-definition.ts';
import type { ProposedCall, SettledCall } from './call-scope.ts';
import type { RunWork } from './executor.ts';
import { failedCall, failedFor, type NodeEnd } from './node-end.ts';
import { failedObservation, isUnknownObservation, succeededObservation } from './observation.ts';
import type { CallNode } from './plan.ts';
import { argumentsOf } from './plan-arguments.ts';
import type { PlanScope } from './plan-scope.ts';
import { timeSpent } from './run-limits.ts';
import type { StoredInvocation } from './run-record.ts';
import { StandingResults } from './standing-results.ts';
import { resultText } from './tool-result.ts';

/** What a person said became of a call whose outcome nobody knew. */
export type SettlementOf = (
  call: SettledCall,
  signal: AbortSignal,
) => Promise<{ readonly status: 'succeeded' | 'failed'; readonly detail: string | null }>;

/** Of a whole plan with all the rounds of its loops; each call costs rows, and may cost a person's attention. */
const MOST_CALLS = 1_000;

/** The calls of one run by plan. What an earlier worker did is read from the rows, and not done again. */
export class PlanCalls {
  readonly #limits: RunLimits;
  readonly #settlementOf: SettlementOf;
  readonly #work: RunWork;
  readonly #stored: Map<string, StoredInvocation>;
  readonly #standing = new StandingResults();
  #calls: number;
  #holds = 0;

  constructor(
    { limits, settlementOf }: { readonly limits: RunLimits; readonly settlementOf: SettlementOf },
    work: RunWork,
  ) {
    this.#limits = limits;
    this.#settlementOf = settlementOf;
    this.#work = work;
    this.#stored = new Map(
      work.progress.invocations.flatMap((stored) =>
        stored.position.kind === 'node' ? [[stored.position.node, stored] as const] : [],
      ),
    );
    this.#calls = [...this.#stored.values()].filter(wasMade).length;
  }

  /**
   * What had no outcome under an earlier worker may have been settled while nobody worked on the run: whoever watches is
   * told so, and what a model would be told of it is put right.
   */
  async letGoOfSettled(): Promise<void> {
    const { holding, invocations } = this.#work.progress;
    for (const [path, stored] of this.#stored) {
      const { status } = stored;
      if (status !== 'succeeded' && status !== 'failed') continue;
      if (stored.view === null || !isUnknownObservation(stored.view)) continue;
      const view = settledView(stored);
      // The answer of a tool that reads like ours.
      if (view === stored.view) continue;
      await this.#work.record.settleUnknown({ id: stored.id, status, error: stored.error, view });
      this.#stored.set(path, { ...stored, view });
    }
    if (holding && !invocations.some(({ status }) => status === 'unknown')) await this.#work.record.letGo();
  }

  /** A node that depends on one that was skipped. */
  async skip(node: CallNode, scope: PlanScope): Promise<NodeEnd> {
    const path = scope.path + node.id;
    if (!this.#stored.has(path)) {
      await this.#mayBegin(scope);
      const skipped = { id: newInvocationId(), position: { kind: 'node', node: path } as const };
      await this.#whileOpen(() => this.#work.record.skip({ ...skipped, tool: toolOf(node) }));
    }
    return { kind: 'skipped' };
  }

  /** Makes the call of a node, or takes it up where an earlier worker left it, and says what the plan makes of its end. */
  make(node: CallNode, scope: PlanScope): Promise<NodeEnd> {
    return this.#whileOpen(() => this.#make(node, scope));
  }

  #whileOpen<T>(work: () => Promise<T>): Promise<T> {
    return this.#work.scope.waits.whileOpen(work);
  }

  async #make(node: CallNode, scope: PlanScope): Promise<NodeEnd> {
    const path = scope.path + node.id;
    const stored = this.#stored.get(path);
    if (stored?.status === 'skipped') return { kind: 'skipped' };
    const proposed = argumentsOf(node, scope);
    const made = proposed.kind === 'object' ? { node: node.id, args: proposed.args } : null;
    if (stored === undefined) {
      const standing = made && this.#standing.take(scope, made);
      if (standing !== null) return standing;
      await this.#mayBegin(scope);
      const spent = (await timeSpent(this.#limits, this.#work.record))?.error ?? this.#callsSpent();
      if (spent) return failedFor(spent);
      this.#calls += 1;
    }
    const call: ProposedCall = {
      id: stored?.id ?? newInvocationId(),
      position: { kind: 'node', node: path },
      callId: null,
      tool: toolOf(node),
      arguments: proposed,
    };
    const settled = await this.#work.call(call, stored ?? null, scope.signal);
    const end = await this.#endOf(node, settled, scope, proposed);
    if (made !== null && end.kind === 'succeeded' && settled.status !== 'blocked') {
      this.#standing.add(scope, made, end);
    }
    return end;
  }

  /** Throws the signal's reason where nothing begins any more, once everything that the rows say has been heard. */
  async #mayBegin({ signal }: PlanScope): Promise<void> {
    // What ended under an earlier worker ends now without asking the database, so within this turn of the event loop.
    if (this.#stored.size > 0) await setImmediate();
    signal.throwIfAborted();
  }

  #callsSpent() {
    const most = Math.min(this.#limits.toolCalls ?? MOST_CALLS, MOST_CALLS);
    if (this.#calls < most) return null;
    return {
      code: 'max_tool_calls' as const,
      message: `The plan asks for more than the ${most} calls that a run of this agent may make.`,
    };
  }

  async #endOf(
    node: CallNode,
    settled: SettledCall,
    scope: PlanScope,
    proposed: ProposedCall['arguments'],
  ): Promise<NodeEnd> {
    const path = scope.path + node.id;
    switch (settled.status) {
      case 'succeeded':
        return { kind: 'succeeded', result: settled.result };
      case 'stubbed':
        return { kind: 'stubbed', result: observationOf(settled) };
      case 'blocked':
        return isLost(node, settled, proposed)
          ? changed(node, path)
          : this.#endOfBlocked(node, settled, path);
      case 'failed':
        return failedCall(path, {
          kind: 'failed',
          code: settled.code ?? 'tool_failed',
          observation: observationOf(settled),
        });
      case 'unknown':
        return this.#hold(settled, scope, path);
    }
  }

  async #endOfBlocked(node: CallNode, settled: SettledCall, path: string): Promise<NodeEnd> {
    switch (node.onRejected) {
      case 'continue':
        return { kind: 'succeeded', result: observationOf(settled) };
      case 'skip':
        await this.#work.record.markSkipped(settled.id);
        return { kind: 'skipped' };
      case 'fail':
        return failedCall(path, {
          kind: 'blocked',
          code: settled.code ?? 'denied_by_hook',
          observation: observationOf(settled),
        });
    }
  }

  /** Nobody knows whether it ran: what depends on it waits until a person says so, and the run reads `waiting`. */
  async #hold(settled: SettledCall, scope: PlanScope, path: string): Promise<NodeEnd> {
    // Where a loop may go round again, not before it is known what became of everything in this round.
    const signal = scope.repeated?.signal ?? scope.signal;
    signal.throwIfAborted();
    this.#holds += 1;
    const { holding, invocations } = this.#work.progress;
    const heldBefore =
      holding && invocations.some(({ id, status }) => id === settled.id && status === 'unknown');
    // The first one always: another node, settled meanwhile, may have let go.
    if (this.#holds === 1 || !heldBefore)
      await this.#work.record.hold({ invocation: settled.id, confirmation: settled.confirmation });
    const { status, detail } = await this.#settlementOf(settled, signal);
    const error =
      status === 'failed'
        ? ({ code: 'tool_failed', message: detail ?? 'It did not take effect.' } as const)
        : null;
    const result = status === 'failed' ? null : await this.#resultOf(settled);
    const view = settledView({ error, result });
    await this.#work.record.settleUnknown({ id: settled.id, status, error, view });
    this.#holds -= 1;
    if (this.#holds === 0) await this.#work.record.letGo();
    if (error === null) return { kind: 'succeeded', result };
    const observation = JSON.parse(view) as JsonValue;
    return failedCall(path, { kind: 'failed', code: 'tool_failed', observation });
  }

  /** Of a call that ran again, what it answered then; nothing where a person only said that it took effect. */
  async #resultOf(settled: SettledCall): Promise<JsonValue> {
    const { invocations } = await this.#work.record.load();
    return invocations.find(({ id }) => id === settled.id)?.result ?? null;
  }
}

const toolOf = (node: CallNode): string => (node.kind === 'tool' ? node.tool : CALL_AGENT);

/** What a model would be told of a call of unknown outcome once it is settled. */
const settledView = ({ error, result }: Pick<StoredInvocation, 'error' | 'result'>): string =>
  error === null
    ? succeededObservation(resultText(result), [])
    : failedObservation({ code: 'tool_failed', message: error.message, answer: null }, []);

/** Not so a node that was skipped because of another one. */
const wasMade = ({ status, error }: StoredInvocation): boolean => status !== 'skipped' || error !== null;

/**
 * The plan was checked when it came: since then the agent has lost what the node names, whatever the plan says about
 * people who say no. Of arguments that can be read at all, nothing but the agent's name is checked.
 */
function isLost(node: CallNode, { code }: SettledCall, proposed: ProposedCall['arguments']): boolean {
  if (code === 'unknown_tool') return true;
  if (node.kind === 'tool' || code !== 'invalid_arguments' || proposed.kind !== 'object') return false;
  return faultOfArguments(proposed.args) === null;
}

const observationOf = ({ view }: SettledCall): JsonValue => JSON.parse(view) as JsonValue;

const changed = (node: CallNode, path: string): NodeEnd =>
  failedFor({
    code: 'plan_changed',
    message: `Node "${path}" names ${node.kind === 'tool' ? `the tool "${node.tool}"` : `the agent "${node.agent}"`}, which the agent does not have any more.`,
  });
