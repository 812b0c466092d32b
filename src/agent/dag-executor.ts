import type { RunLimits } from '../config/config.ts';
import { type Executor, failedRun, type RunWork } from './executor.ts';
import type { PlanNode } from './plan.ts';
import { PlanCalls, type SettlementOf } from './plan-calls.ts';
import { runNodes } from './plan-nodes.ts';
import type { RunEnd } from './run-record.ts';

/**
 * Works through a given plan: every node whose dependencies have ended runs, side by side with the others. What an
 * earlier worker did is read from the rows: a node that ended then ends the same way now, without running.
 */
export class DagExecutor implements Executor {
  readonly #plan: readonly PlanNode[];
  readonly #given: { readonly limits: RunLimits; readonly settlementOf: SettlementOf };

  constructor(input: {
    readonly plan: readonly PlanNode[];
    readonly limits: RunLimits;
    readonly settlementOf: SettlementOf;
  }) {
    this.#plan = input.plan;
    this.#given = input;
  }

  async run(work: RunWork): Promise<RunEnd> {
    const calls = new PlanCalls(this.#given, work);
    await calls.letGoOfSettled();
    const { signal } = work.scope;
    const top = { path: '', pathOfAnyRound: '', signal, repeated: null, endOf: () => undefined };
    const end = await runNodes(this.#plan, top, calls);
    if (end.kind === 'failed') return failedRun(end.error.code, end.error.message);
    return { status: 'succeeded', output: JSON.stringify(end.result), error: null };
  }
}
