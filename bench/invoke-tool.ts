import type { CallScope } from '../src/agent/call-scope.ts';
import { invokeTool } from '../src/agent/invoke-tool.ts';
import { RunWaits } from '../src/agent/run-waits.ts';
import { systemClock } from '../src/clock.ts';
import { HookRegistry } from '../src/hook/hook-registry.ts';
import { newInvocationId, personId } from '../src/ids.ts';
import { type BenchRow, quantile } from './bench-row.ts';
import { hookableOf, IdleGate, IdleHook, microsecondsACall } from './hook-dispatch.ts';
import { ALWAYS_THERE, newFacts, PAYING_TOOL, portsWithoutPeople, SilentRecord } from './in-memory-run.ts';

const ROUNDS = 7;

/**
 * What class hooks add to a whole call through `invoke-tool` (reading and digesting the arguments, hooks, gate, tool,
 * receipt; the log in memory), against `hookable`'s `callHook` with as many functions. Medians of rounds in turn.
 */
export async function benchInvokeTool(): Promise<BenchRow[]> {
  const withoutHooks = invocationWith(0);
  const base: number[] = [];
  const rows: BenchRow[] = [];
  for (const declared of [1, 10]) {
    const ours = invocationWith(declared);
    const theirs = hookableOf(declared);
    const added: number[] = [];
    const references: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const alone = await microsecondsACall(withoutHooks);
      base.push(alone);
      added.push((await microsecondsACall(ours)) - alone);
      references.push(await microsecondsACall(theirs));
    }
    const value = quantile(added, 0.5);
    const reference = quantile(references, 0.5);
    rows.push({
      name: `invoke-tool, added by ${declared} class hook${declared === 1 ? '' : 's'}`,
      value,
      unit: 'µs',
      reference,
      referenceName: `hookable callHook, ${declared}`,
      ratio: value / reference,
      goal: '≤ 2×',
    });
  }
  const whole: BenchRow = {
    name: 'invoke-tool, a whole call with the gate alone',
    value: quantile(base, 0.5),
    unit: 'µs',
    reference: null,
    referenceName: null,
    ratio: null,
    goal: 'for comparison',
  };
  return [whole, ...rows];
}

function invocationWith(declared: number): () => Promise<unknown> {
  const hooks = Array.from({ length: declared }, (_, index) => new IdleHook(`idle-${index}`));
  const facts = newFacts();
  const scope: CallScope = {
    run: facts.id,
    parentRun: null,
    organization: facts.organization,
    agent: facts.agent,
    person: personId('zhao.min'),
    requesterNamedByAgent: false,
    session: facts.session,
    evaluation: false,
    tools: () => new Map([[PAYING_TOOL.name, PAYING_TOOL]]),
    reach: ALWAYS_THERE,
    hooks: new HookRegistry({ hooks, gate: new IdleGate() }),
    log: new SilentRecord(facts),
    waits: new RunWaits({
      parkAfterMs: Number.POSITIVE_INFINITY,
      clock: systemClock,
      park: async () => false,
      onParked() {},
      place: { enter: async () => {}, leave() {} },
    }),
    signal: new AbortController().signal,
  };
  const ports = portsWithoutPeople();
  const id = newInvocationId();
  return () =>
    invokeTool(
      {
        id,
        position: { kind: 'turn', turn: 1, place: 0 },
        callId: 'call_0',
        tool: PAYING_TOOL.name,
        arguments: {
          kind: 'text',
          text: '{"payee":"Acme Steel","amount":"68000.00","currency":"CNY","memo":"PO-2291"}',
        },
      },
      scope,
      ports,
    );
}
