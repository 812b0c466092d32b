import { setMaxListeners } from 'node:events';
import type { RunLimits } from '../config/config.ts';
import { newInvocationId } from '../ids.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import { CALL_AGENT } from './call-agent-definition.ts';
import type { ProposedCall, SettledCall } from './call-scope.ts';
import { type Executor, failedRun, type RunWork } from './executor.ts';
import type { PlanNode } from './plan.ts';
import { dependenciesOf } from './plan-check.ts';
import { referencedNodes, resolveReferences } from './plan-references.ts';
import type { RunFailure } from './run-failure.ts';
import { timeSpent } from './run-limits.ts';
import type { RunEnd, StoredInvocation } from './run-record.ts';
import { isSuspended, RunStop } from './run-stop.ts';

/** What a person said became of a call whose outcome nobody knew. */
export type SettlementOf = (
  call: SettledCall,
  signal: AbortSignal,
) => Promise<{ readonly status: 'succeeded' | 'failed'; readonly detail: string | null }>;

type NodeEnd =
  | { readonly kind: 'succeeded'; readonly result: JsonValue }
  | { readonly kind: 'skipped' }
  /** Of an evaluation: what depends on it runs, but for what would need its result. */
  | { readonly kind: 'stubbed'; readonly result: JsonValue }
  /** Fails the run. */
  | { readonly kind: 'failed'; readonly error: RunFailure };

/**
 * Works through a given plan: every node whose dependencies have ended runs, side by side with the others. What an
 * earlier worker did is read from the rows: a node that ended then ends the same way now, without running.
 */
export class DagExecutor implements Executor {
  readonly #given: GivenPlan;

  constructor(given: GivenPlan) {
    this.#given = given;
  }

  async run(work: RunWork): Promise<RunEnd> {
    return new PlanRun(this.#given, work).finish();
  }
}

interface GivenPlan {
  readonly plan: readonly PlanNode[];
  readonly limits: RunLimits;
  readonly settlementOf: SettlementOf;
}

/** One pass through a plan. */
class PlanRun {
  readonly #plan: readonly PlanNode[];
  readonly #limits: RunLimits;
  readonly #settlementOf: SettlementOf;
  readonly #work: RunWork;
  readonly #ends = new Map<string, NodeEnd>();
  readonly #running = new Map<string, Promise<void>>();
  /** Stops the other nodes once the run has failed, or met a fault. */
  readonly #failed = new AbortController();
  readonly #signal: AbortSignal;
  #failure: RunFailure | null = null;
  #fault: { readonly error: unknown } | null = null;
  #holds = 0;

  constructor({ plan, limits, settlementOf }: GivenPlan, work: RunWork) {
    this.#plan = plan;
    this.#limits = limits;
    this.#settlementOf = settlementOf;
    this.#work = work;
    this.#signal = AbortSignal.any([work.scope.signal, this.#failed.signal]);
    // Each node that waits listens.
    setMaxListeners(0, this.#signal, this.#failed.signal);
  }

  async finish(): Promise<RunEnd> {
    await this.#letGo();
    for (;;) {
      if (this.#failure === null && this.#fault === null) this.#startReady();
      if (this.#running.size === 0) break;
      await Promise.race(this.#running.values());
    }
    const { signal } = this.#work.scope;
    // A fault suspends the run as well, and says more than that.
    if (signal.aborted && (this.#fault === null || !isSuspended(signal))) throw signal.reason;
    if (this.#fault !== null) throw this.#fault.error;
    const failure = this.#failure;
    if (failure !== null) return failedRun(failure.code, failure.message);
    return { status: 'succeeded', output: JSON.stringify(this.#output()), error: null };
  }

  /** What an earlier worker held for people may have been settled while nobody worked on the run. */
  async #letGo(): Promise<void> {
    const { holding, invocations } = this.#work.progress;
    if (!holding || invocations.some(({ status }) => status === 'unknown')) return;
    await this.#work.record.setHolding(false);
  }

  #startReady(): void {
    for (const node of this.#plan) {
      if (this.#ends.has(node.id) || this.#running.has(node.id)) continue;
      if (!dependenciesOf(node).every((id) => this.#ends.has(id))) continue;
      const running = this.#work.scope.waits
        .whileOpen(() => this.#runNode(node))
        .then((end) => this.#ended(node, end))
        .catch((error: unknown) => {
          // A node that was only stopped because another one failed the run.
          if (error === this.#failed.signal.reason) return;
          this.#fault ??= { error };
          // Nothing may wait behind it, for days if need be: the plan is taken up again from its rows.
          this.#failed.abort(new RunStop('suspended'));
        })
        .finally(() => this.#running.delete(node.id));
      this.#running.set(node.id, running);
    }
  }

  #ended(node: PlanNode, end: NodeEnd): void {
    this.#ends.set(node.id, end);
    if (end.kind !== 'failed' || this.#failure !== null) return;
    this.#failure = end.error;
    // What still waits for people is withdrawn; what already runs comes to its end.
    this.#failed.abort(new RunStop('cancelled'));
  }

  async #runNode(node: PlanNode): Promise<NodeEnd> {
    const stored = this.#work.progress.invocations.find(
      ({ position }) => position.kind === 'node' && position.node === node.id,
    );
    if (stored?.status === 'skipped') return { kind: 'skipped' };
    if (dependenciesOf(node).some((id) => this.#ends.get(id)?.kind === 'skipped')) {
      await this.#work.record.skip({
        id: newInvocationId(),
        position: { kind: 'node', node: node.id },
        tool: node.kind === 'tool' ? node.tool : CALL_AGENT,
      });
      return { kind: 'skipped' };
    }
    if (!stored) {
      const spent = await timeSpent(this.#limits, this.#work.record);
      if (spent?.error) return { kind: 'failed', error: spent.error };
    }
    const settled = await this.#work.call(this.#callOf(node, stored), stored ?? null, this.#signal);
    return this.#endOf(node, settled);
  }

  #callOf(node: PlanNode, stored: StoredInvocation | undefined): ProposedCall {
    return {
      id: stored?.id ?? newInvocationId(),
      position: { kind: 'node', node: node.id },
      callId: null,
      tool: node.kind === 'tool' ? node.tool : CALL_AGENT,
      arguments:
        node.kind === 'tool'
          ? this.#argumentsOf(node.args)
          : { kind: 'object', args: { agent: node.agent, input: node.input } },
    };
  }

  #argumentsOf(args: JsonObject): ProposedCall['arguments'] {
    const stubbed = referencedNodes(args).find((id) => this.#ends.get(id)?.kind === 'stubbed');
    if (stubbed !== undefined) {
      const message = `It needs the result of node "${stubbed}", which an evaluation does not run.`;
      return { kind: 'unknowable', args, message };
    }
    const resolved = resolveReferences(args, (id) => {
      const end = this.#ends.get(id);
      return end?.kind === 'succeeded' ? end.result : undefined;
    });
    return resolved.kind === 'resolved'
      ? { kind: 'object', args: resolved.args }
      : { kind: 'refused', message: resolved.message };
  }

  async #endOf(node: PlanNode, settled: SettledCall): Promise<NodeEnd> {
    switch (settled.status) {
      case 'succeeded':
        return { kind: 'succeeded', result: settled.result };
      case 'stubbed':
        return { kind: 'stubbed', result: JSON.parse(settled.view) as JsonValue };
      case 'blocked':
        return this.#endOfBlocked(node, settled);
      case 'failed':
        return failed(node, 'node_failed', settled.code ?? 'tool_failed');
      case 'unknown':
        return this.#hold(node, settled);
    }
  }

  async #endOfBlocked(node: PlanNode, settled: SettledCall): Promise<NodeEnd> {
    // The plan was checked when it came: since then the agent has lost what the node names, whatever the plan says
    // about people who say no.
    const lost = node.kind === 'tool' ? 'unknown_tool' : 'invalid_arguments';
    if (settled.code === lost || settled.code === 'unknown_tool') return changed(node);
    switch (node.onRejected) {
      case 'continue':
        return { kind: 'succeeded', result: JSON.parse(settled.view) as JsonValue };
      case 'skip':
        await this.#work.record.markSkipped(settled.id);
        return { kind: 'skipped' };
      case 'fail':
        return failed(node, 'node_blocked', settled.code ?? 'denied_by_hook');
    }
  }

  /** Nobody knows whether it ran: what depends on it waits until a person says so, and the run reads `waiting`. */
  async #hold(node: PlanNode, settled: SettledCall): Promise<NodeEnd> {
    this.#holds += 1;
    if (this.#holds === 1) await this.#work.record.setHolding(true);
    const { status, detail } = await this.#settlementOf(settled, this.#signal);
    const error =
      status === 'failed' ? { code: 'tool_failed', message: detail ?? 'It did not take effect.' } : null;
    await this.#work.record.settleUnknown({ id: settled.id, status, error });
    this.#holds -= 1;
    if (this.#holds === 0) await this.#work.record.setHolding(false);
    if (status === 'succeeded') return { kind: 'succeeded', result: await this.#resultOf(settled) };
    return failed(node, 'node_failed', 'tool_failed');
  }

  /** Of a call that ran again, what it answered then; nothing where a person only said that it took effect. */
  async #resultOf(settled: SettledCall): Promise<JsonValue> {
    const { invocations } = await this.#work.record.load();
    return invocations.find(({ id }) => id === settled.id)?.result ?? null;
  }

  /** The results of the nodes on which no other depends. */
  #output(): JsonObject {
    const needed = new Set(this.#plan.flatMap(dependenciesOf));
    return Object.fromEntries(
      this.#plan
        .filter((node) => !needed.has(node.id))
        .map((node) => {
          const end = this.#ends.get(node.id);
          return [node.id, end !== undefined && 'result' in end ? end.result : { status: 'skipped' }];
        }),
    );
  }
}

const changed = (node: PlanNode): NodeEnd => ({
  kind: 'failed',
  error: {
    code: 'plan_changed',
    message: `Node "${node.id}" names ${node.kind === 'tool' ? `the tool "${node.tool}"` : `the agent "${node.agent}"`}, which the agent does not have any more.`,
  },
});

const failed = (node: PlanNode, code: 'node_failed' | 'node_blocked', cause: string): NodeEnd => ({
  kind: 'failed',
  error: {
    code,
    message: `Node "${node.id}" ${code === 'node_failed' ? 'failed' : 'was blocked'} (${cause}).`,
  },
});
