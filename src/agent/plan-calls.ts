import type { RunLimits } from '../config/config.ts';
import { newInvocationId } from '../ids.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import { CALL_AGENT } from './call-agent-definition.ts';
import type { ProposedCall, SettledCall } from './call-scope.ts';
import type { RunWork } from './executor.ts';
import { failedCall, failedFor, type NodeEnd } from './node-end.ts';
import { type CallNode, givenTo } from './plan.ts';
import { referencedNodes, resolveReferences } from './plan-references.ts';
import { loopsAndRoundsAround, type PlanScope } from './plan-scope.ts';
import { timeSpent } from './run-limits.ts';
import type { StoredInvocation } from './run-record.ts';
import type { StepRecord } from './steps-pass.ts';

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
  readonly #stored: ReadonlyMap<string, StoredInvocation>;
  /** The loops and rounds in which calls are on record. */
  readonly #begunAround: ReadonlySet<string>;
  /** What succeeded, by the node and the rounds around it but for those of loops that repeat. */
  readonly #succeeded = new Map<string, { readonly given: string; readonly end: NodeEnd }>();
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
    this.#begunAround = new Set([...this.#stored.keys()].flatMap(loopsAndRoundsAround));
    this.#calls = this.#stored.size;
  }

  /** What an earlier worker held for people may have been settled while nobody worked on the run. */
  async letGoOfSettled(): Promise<void> {
    const { holding, invocations } = this.#work.progress;
    if (!holding || invocations.some(({ status }) => status === 'unknown')) return;
    await this.#work.record.letGo();
  }

  /** Of a node, a loop or a round, by its path. An unknown outcome is no end yet. */
  onRecord(path: string): StepRecord {
    const stored = this.#stored.get(path);
    if (stored === undefined) return this.#begunAround.has(path) ? 'begun' : 'nothing';
    return stored.phase === 'settled' && stored.status !== 'unknown' ? 'ended' : 'begun';
  }

  /** A node that depends on one that was skipped. */
  async skip(node: CallNode, scope: PlanScope): Promise<NodeEnd> {
    const path = scope.path + node.id;
    if (!this.#stored.has(path)) {
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
    const given = JSON.stringify(proposed);
    const earlier = this.#succeeded.get(scope.pathOfAnyRound + node.id);
    // Nothing that took effect is done twice because something beside it was refused.
    if (stored === undefined && earlier?.given === given) return earlier.end;
    if (stored === undefined) {
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
    const end = await this.#endOf(node, settled, scope);
    if (end.kind === 'succeeded' && settled.status !== 'blocked') {
      this.#succeeded.set(scope.pathOfAnyRound + node.id, { given, end });
    }
    return end;
  }

  #callsSpent() {
    const most = Math.min(this.#limits.toolCalls ?? MOST_CALLS, MOST_CALLS);
    if (this.#calls < most) return null;
    return {
      code: 'max_tool_calls' as const,
      message: `The plan asks for more than the ${most} calls that a run of this agent may make.`,
    };
  }

  async #endOf(node: CallNode, settled: SettledCall, scope: PlanScope): Promise<NodeEnd> {
    const path = scope.path + node.id;
    switch (settled.status) {
      case 'succeeded':
        return { kind: 'succeeded', result: settled.result };
      case 'stubbed':
        return { kind: 'stubbed', result: observationOf(settled) };
      case 'blocked':
        return this.#endOfBlocked(node, settled, path);
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
    // The plan was checked when it came: since then the agent has lost what the node names, whatever the plan says
    // about people who say no.
    const lost = node.kind === 'tool' ? 'unknown_tool' : 'invalid_arguments';
    if (settled.code === lost || settled.code === 'unknown_tool') return changed(node, path);
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
    const signal = scope.repeated ?? scope.signal;
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
      status === 'failed' ? { code: 'tool_failed', message: detail ?? 'It did not take effect.' } : null;
    await this.#work.record.settleUnknown({ id: settled.id, status, error });
    this.#holds -= 1;
    if (this.#holds === 0) await this.#work.record.letGo();
    if (status === 'succeeded') return { kind: 'succeeded', result: await this.#resultOf(settled) };
    return failedCall(path, {
      kind: 'failed',
      code: 'tool_failed',
      observation: { status: 'failed', ...error },
    });
  }

  /** Of a call that ran again, what it answered then; nothing where a person only said that it took effect. */
  async #resultOf(settled: SettledCall): Promise<JsonValue> {
    const { invocations } = await this.#work.record.load();
    return invocations.find(({ id }) => id === settled.id)?.result ?? null;
  }
}

const toolOf = (node: CallNode): string => (node.kind === 'tool' ? node.tool : CALL_AGENT);

const observationOf = ({ view }: SettledCall): JsonValue => JSON.parse(view) as JsonValue;

function argumentsOf(node: CallNode, { endOf }: PlanScope): ProposedCall['arguments'] {
  const given = givenTo(node);
  const stubbed = referencedNodes(given).find((id) => endOf(id)?.kind === 'stubbed');
  if (stubbed !== undefined) {
    const message = `It needs the result of node "${stubbed}", which an evaluation does not run.`;
    return { kind: 'unknowable', args: callArguments(node, given), message };
  }
  const resolved = resolveReferences(given, (id) => {
    const end = endOf(id);
    return end?.kind === 'succeeded' ? end.result : undefined;
  });
  return resolved.kind === 'resolved'
    ? { kind: 'object', args: callArguments(node, resolved.value) }
    : { kind: 'refused', message: resolved.message };
}

/** `given`: the node's arguments or data, resolved. */
function callArguments(node: CallNode, given: JsonValue): JsonObject {
  if (node.kind === 'tool') return given as JsonObject;
  const { agent, input } = node;
  return { agent, input: node.data === undefined ? input : `${input}\n\n${JSON.stringify(given, null, 2)}` };
}

const changed = (node: CallNode, path: string): NodeEnd =>
  failedFor({
    code: 'plan_changed',
    message: `Node "${path}" names ${node.kind === 'tool' ? `the tool "${node.tool}"` : `the agent "${node.agent}"`}, which the agent does not have any more.`,
  });
