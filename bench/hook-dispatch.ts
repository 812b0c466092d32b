import { createHooks } from 'hookable';
import { systemClock } from '../src/clock.ts';
import { dispatchPreToolUse } from '../src/hook/dispatch-pre-tool-use.ts';
import { GateHook, PreToolUseHook } from '../src/hook/hook.ts';
import type { HookContext } from '../src/hook/hook-context.ts';
import { HookRegistry } from '../src/hook/hook-registry.ts';
import { agentId, personId } from '../src/ids.ts';
import { type BenchRow, quantile } from './bench-row.ts';

const ROUNDS = 41;
const CALLS_A_ROUND = 5_000;

/**
 * What a tool call pays for passing its hooks: with 0, 1 and 10 declared class hooks and the gate that every agent has,
 * against `hookable` with as many functions. Both call async functions that do nothing; ours also freezes the call,
 * checks each answer and bounds each hook in time. The median of rounds that take turns.
 */
export async function benchHookDispatch(): Promise<BenchRow[]> {
  const rows: BenchRow[] = [];
  for (const declared of [0, 1, 10]) {
    const ours = dispatchOf(declared);
    const theirs = hookableOf(declared + 1);
    const ourTimes: number[] = [];
    const theirTimes: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      theirTimes.push(await microsecondsACall(theirs));
      ourTimes.push(await microsecondsACall(ours));
    }
    const value = quantile(ourTimes, 0.5);
    const reference = quantile(theirTimes, 0.5);
    rows.push({
      name: `PreToolUse dispatch, class hooks: ${declared}, and the gate`,
      value,
      unit: 'µs',
      reference,
      referenceName: `hookable callHook, hooks: ${declared + 1}`,
      ratio: value / reference,
      goal: '≤ 2×',
    });
  }
  return rows;
}

export class IdleHook extends PreToolUseHook {
  readonly name: string;
  readonly onError = 'deny';

  constructor(name: string) {
    super();
    this.name = name;
  }

  async execute() {
    return { allow: true } as const;
  }
}

export class IdleGate extends GateHook {
  readonly name = 'confirmation-gate';

  async execute() {
    return { allow: true } as const;
  }
}

function dispatchOf(declared: number): () => Promise<unknown> {
  const hooks = Array.from({ length: declared }, (_, index) => new IdleHook(`idle-${index}`));
  const registry = new HookRegistry({ hooks, gate: new IdleGate() });
  const { signal } = new AbortController();
  const validateArgs = () => ({ ok: true }) as const;
  const onHookFailed = () => {};
  return () =>
    dispatchPreToolUse({
      registry,
      context: newContext(),
      validateArgs,
      signal,
      clock: systemClock,
      onHookFailed,
    });
}

export function hookableOf(count: number): () => Promise<unknown> {
  const hooks = createHooks<{ call: (context: HookContext) => Promise<void> }>();
  for (let index = 0; index < count; index += 1) hooks.hook('call', async () => {});
  return () => hooks.callHook('call', newContext()) as Promise<unknown>;
}

const newContext = (): HookContext => ({
  toolName: 'oa__purchase_pay',
  toolArgs: { payee: 'Acme Steel', amount: '68000.00', currency: 'CNY', memo: 'PO-2291' },
  agentId: agentId('procurement'),
  userId: personId('zhao.min'),
  sessionId: 'session-1',
  runId: null,
  metadata: {
    organization: 'acme',
    conversation: null,
    connector: 'oa',
    toolVersion: null,
    writes: true,
    requiresConfirmation: true,
    invocationId: null,
    callId: 'call_0',
    parentRunId: null,
    evaluation: false,
    ask: null,
  },
});

export async function microsecondsACall(call: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  for (let index = 0; index < CALLS_A_ROUND; index += 1) await call();
  return ((performance.now() - start) * 1_000) / CALLS_A_ROUND;
}
