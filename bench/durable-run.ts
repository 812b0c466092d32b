import type { CallScope } from '../src/agent/call-scope.ts';
import { invokeTool } from '../src/agent/invoke-tool.ts';
import type { Model } from '../src/agent/model.ts';
import { ReactExecutor } from '../src/agent/react-executor.ts';
import type { RunProgress, RunRecord } from '../src/agent/run-record.ts';
import type { RunFacts } from '../src/agent/run-store.ts';
import { RunWaits } from '../src/agent/run-waits.ts';
import { systemClock } from '../src/clock.ts';
import { connectPostgres } from '../src/db/connect-postgres.ts';
import { createRunStore } from '../src/db/run-store.ts';
import { HookRegistry } from '../src/hook/hook-registry.ts';
import { type BenchRow, quantile } from './bench-row.ts';
import { IdleGate } from './hook-dispatch.ts';
import { ALWAYS_THERE, newFacts, PAYING_TOOL, portsWithoutPeople, SilentRecord } from './in-memory-run.ts';

const CALLS = 10;
/** Each tool call, each turn of the model that asks for one, and the turn that ends the run. */
const STEPS = 2 * CALLS + 1;
const ROUNDS = 40;

/**
 * What durability costs: a run of ten turns with one tool call each, every step written to PostgreSQL, against the
 * same run with its record in memory. Model and tool answer at once, nobody is asked.
 */
export async function benchDurableRun(databaseUrl: string): Promise<BenchRow[]> {
  const database = await connectPostgres({ url: databaseUrl });
  const store = createRunStore({ database, clock: systemClock });
  const durable: number[] = [];
  const inMemory: number[] = [];
  for (let round = -5; round < ROUNDS; round += 1) {
    const facts = newFacts();
    const creation = await store.create(facts, 'bench');
    if (creation.kind !== 'created') throw new Error('the run is not new');
    const onRecord = await stepMs(facts, store.record(creation.lease));
    const without = await stepMs(facts, new SilentRecord(facts));
    if (round < 0) continue;
    durable.push(onRecord);
    inMemory.push(without);
  }
  await database.close();
  const row = (fraction: number, name: string): BenchRow => ({
    name: `a step of a run of ${CALLS} tool calls (${STEPS} steps), ${name}`,
    value: quantile(durable, fraction),
    unit: 'ms',
    reference: quantile(inMemory, fraction),
    referenceName: 'with its record in memory',
    ratio: quantile(durable, fraction) / quantile(inMemory, fraction),
    goal: '≤ 2 ms more than in memory',
  });
  return [row(0.5, 'p50'), row(0.95, 'p95')];
}

/** One run from its first turn to its last answer. */
async function stepMs(facts: RunFacts, record: RunRecord): Promise<number> {
  const signal = new AbortController().signal;
  const waits = new RunWaits({
    parkAfterMs: Number.POSITIVE_INFINITY,
    clock: systemClock,
    park: async () => false,
    onParked() {},
    place: { enter: async () => {}, leave() {} },
  });
  const scope: CallScope = {
    run: facts.id,
    parentRun: null,
    organization: facts.organization,
    agent: facts.agent,
    person: null,
    requesterNamedByAgent: false,
    session: facts.session,
    evaluation: false,
    tools: () => new Map([[PAYING_TOOL.name, PAYING_TOOL]]),
    reach: ALWAYS_THERE,
    hooks: new HookRegistry({ hooks: [], gate: new IdleGate() }),
    log: record,
    waits,
    signal,
  };
  const executor = new ReactExecutor({
    model: callingModel(),
    limits: { turns: CALLS + 1, toolCalls: null, wallTimeMs: null, tokens: null },
    opening: async () => [{ role: 'user', content: facts.input }],
  });
  const progress: RunProgress = {
    facts,
    messages: [],
    invocations: [],
    cancelRequested: false,
    spokenTurn: null,
    holding: false,
  };
  const ports = portsWithoutPeople();
  const started = performance.now();
  const end = await executor.run({
    progress,
    record,
    scope,
    clock: systemClock,
    keep: (messages, spoken = null) => record.appendMessages(messages, spoken),
    call: (proposed) => invokeTool(proposed, scope, ports),
  });
  const elapsedMs = performance.now() - started;
  if (end.status !== 'succeeded') throw new Error(`the run ended as ${end.status}`);
  await record.finish(end);
  return elapsedMs / STEPS;
}

/** Calls the tool once a turn, then says that it is done. */
const callingModel = (): Model => ({
  async complete({ messages }) {
    const turn = messages.filter(({ role }) => role === 'assistant').length;
    if (turn === CALLS) return { kind: 'answered', text: 'Done.', toolCalls: [], tokens: 0, cut: null };
    const args = { payee: `Acme Steel ${turn}`, amount: '68000.00', currency: 'CNY', memo: 'PO-2291' };
    const call = { id: `call_${turn}`, name: PAYING_TOOL.name, arguments: JSON.stringify(args) };
    return { kind: 'answered', text: null, toolCalls: [call], tokens: 0, cut: null };
  },
});
