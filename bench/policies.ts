import { Environment } from '@marcbachmann/cel-js';
import type { PolicyConfig } from '../src/config/config.ts';
import { compileCondition } from '../src/confirmation/condition.ts';
import { FactReads } from '../src/confirmation/fact-reads.ts';
import { createPolicyEvaluator } from '../src/confirmation/policy-evaluator.ts';
import { channelId, personId } from '../src/ids.ts';
import { type BenchRow, quantile } from './bench-row.ts';
import { HOSTILE_CALLS } from './hostile-conditions.ts';

const POLICIES = 200;
const CALLS = 3_000;
const HOSTILE_ROUNDS = 15;

/**
 * What a call pays for the policies: 200 of them whose tools cover it, each with a condition on its amount, of which
 * the last one matches, against that one condition alone in plain cel-js (with numbers that are doubles there). And
 * the dearest condition and arguments that a search found, as the median of some rounds.
 */
export function benchPolicies(): BenchRow[] {
  const evaluator = createPolicyEvaluator({
    policies: Array.from({ length: POLICIES }, (_, index) => policy(index)),
    defaultPolicy: null,
    floor: null,
    people: [],
  });
  const ours = timesOf(() => evaluator.evaluate(CALL));
  const plain = new Environment()
    .registerVariable('args', 'map<string, dyn>')
    .parse('args.amount > 60000.0 && args.currency == "CNY"');
  const theirs = timesOf(() => plain({ args: { amount: 68_000, currency: 'CNY' } }));
  const value = quantile(ours, 0.99);
  const reference = quantile(theirs, 0.99);
  return [
    {
      name: `policy evaluation, ${POLICIES} policies on one call, p99`,
      value,
      unit: 'ms',
      reference,
      referenceName: 'plain cel-js, the matching condition alone, p99',
      ratio: value / reference,
      goal: '≤ 1 ms',
    },
    dearestHostileCall(),
  ];
}

const limitOf = (index: number): number => (index === POLICIES - 1 ? 60_000 : 1_000_000 - index);

const policy = (index: number): PolicyConfig => ({
  id: `tier-${index}`,
  tools: ['oa__*'],
  when: `money(args.amount, args.currency) > money("${limitOf(index)}", "CNY")`,
  approvers: [personId('li.wei')],
  named: [],
  quorum: 1,
  allowSelfApproval: false,
  channels: [channelId('pay')],
  notify: 'group',
  fallback: null,
  decideWithinMs: 900_000,
  executeWithinMs: 600_000,
  outcomeWithinMs: 3_600_000,
  deliveryTimeoutMs: 900_000,
  reason: 'never',
  remindAfterMs: null,
  escalation: null,
  coolOffMs: 0,
  excluded: null,
});

const CALL = {
  tool: 'oa__purchase_pay',
  args: { payee: 'Acme Steel', amount: '68000.00', currency: 'CNY', memo: 'PO-2291' },
  agent: 'procurement',
  requester: 'zhao.min',
  session: null,
  metadata: {},
  flagged: false,
};

function dearestHostileCall(): BenchRow {
  const costs = HOSTILE_CALLS.map(({ name, when, args }) => {
    const condition = compileCondition(when);
    if (condition.kind === 'faulty') throw new Error(`${name}: ${condition.message}`);
    const facts = { ...CALL, args };
    const times = Array.from({ length: HOSTILE_ROUNDS }, () =>
      timed(() => condition.evaluate(facts, new FactReads())),
    );
    return { name, medianMs: quantile(times, 0.5) };
  });
  const [dearest] = costs.sort((left, right) => right.medianMs - left.medianMs);
  if (dearest === undefined) throw new Error('There is no hostile call');
  return {
    name: `dearest hostile condition (${dearest.name})`,
    value: dearest.medianMs,
    unit: 'ms',
    reference: null,
    referenceName: null,
    ratio: null,
    goal: '≤ 5 ms',
  };
}

/** Warmed up; milliseconds a call. */
function timesOf(call: () => unknown): number[] {
  for (let index = 0; index < CALLS / 3; index += 1) call();
  return Array.from({ length: CALLS }, () => timed(call));
}

function timed(call: () => unknown): number {
  const start = performance.now();
  call();
  return performance.now() - start;
}
