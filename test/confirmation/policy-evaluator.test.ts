import { describe, expect, it } from 'vitest';
import type { FloorConfig, PersonConfig, PolicyConfig, PolicyRule } from '../../src/config/config.ts';
import { createPolicyEvaluator, type PolicyQuestion } from '../../src/confirmation/policy-evaluator.ts';
import { isAtLeastAsStrict } from '../../src/confirmation/policy-evaluator-strictness.ts';
import { channelId, personId } from '../../src/ids.ts';
import type { JsonObject } from '../../src/json.ts';

const PERSON: PersonConfig = {
  id: personId('somebody'),
  name: 'Somebody',
  active: true,
  groups: [],
  roles: [],
  consoleKey: null,
  away: null,
  identities: [],
};

const NO_FLOOR = { floor: null, people: [] };

const rule = (more: Partial<PolicyRule> = {}): PolicyRule => ({
  named: [],
  approvers: [personId('li'), personId('wang')],
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
  ...more,
});
const policy = (id: string, more: Partial<PolicyConfig> = {}): PolicyConfig => ({
  id,
  tools: ['oa__*'],
  when: null,
  ...rule(),
  ...more,
});
const question = (more: Partial<PolicyQuestion> = {}): PolicyQuestion => ({
  tool: 'oa__pay',
  args: {},
  agent: 'procurement',
  requester: 'zhao',
  session: null,
  metadata: {},
  flagged: false,
  ...more,
});
/** The id of the deciding policy, or the kind of the answer. */
const deciding = (
  policies: readonly PolicyConfig[],
  more: Partial<PolicyQuestion> = {},
  defaultPolicy: PolicyRule | null = rule(),
): string => {
  const answer = createPolicyEvaluator({ ...NO_FLOOR, policies, defaultPolicy }).evaluate(question(more));
  return answer.kind === 'policy' ? answer.policy.id : answer.kind;
};

describe('which policy decides', () => {
  const large = policy('large', { when: 'args.amount > 100', quorum: 2 });
  const any = policy('any');

  it('is the first one that matches, by tool and condition', () => {
    expect(deciding([large, any], { args: { amount: 200 } })).toBe('large');
    expect(deciding([any, large], { args: { amount: 200 } })).toBe('any');
    expect(deciding([large, any], { args: { amount: 50 } })).toBe('any');
  });

  it('is none where nothing matches, and the default where the call is flagged', () => {
    expect(deciding([large], { args: { amount: 50 } })).toBe('none');
    expect(deciding([large], { tool: 'crm__read' })).toBe('none');
    expect(deciding([large], { args: { amount: 50 }, flagged: true })).toBe('default');
    expect(deciding([], { flagged: true })).toBe('default');
  });

  it('is a policy rather than the default where one matches a flagged call', () => {
    expect(deciding([any], { flagged: true })).toBe('any');
  });

  it('is a failure, never "not needed", where a flagged call has no default', () => {
    expect(deciding([], { flagged: true }, null)).toBe('failed');
  });

  it('comes with the rule, and without tools and condition', () => {
    const answer = createPolicyEvaluator({ ...NO_FLOOR, policies: [large], defaultPolicy: null }).evaluate(
      question({ args: { amount: 200 } }),
    );
    expect(answer).toEqual({
      kind: 'policy',
      policy: { id: 'large', excludedPeople: [], floor: false, ...rule({ quorum: 2 }) },
    });
  });

  it('is not chosen at all where a condition fails: a weaker tier behind it does not take over', () => {
    const evaluator = createPolicyEvaluator({ ...NO_FLOOR, policies: [large, any], defaultPolicy: rule() });
    expect(evaluator.evaluate(question({ args: { amount: 'much' } }))).toEqual({
      kind: 'failed',
      message: 'The argument amount has the wrong type for the condition.',
      argument: 'amount',
      policyId: 'large',
    });
    expect(evaluator.evaluate(question({ flagged: true }))).toMatchObject({
      kind: 'failed',
      argument: 'amount',
    });
  });

  it('does not fail by a condition that no longer matters, or of another tool', () => {
    expect(deciding([any, large])).toBe('any');
    expect(deciding([large], { tool: 'crm__read' })).toBe('none');
  });

  it('cannot be asked of a policy whose condition does not compile', () => {
    expect(() =>
      createPolicyEvaluator({
        ...NO_FLOOR,
        policies: [policy('x', { when: 'nosuch' })],
        defaultPolicy: null,
      }),
    ).toThrow(/condition of policy x/);
  });
});

describe('a policy that reads what the agent sends', () => {
  const urgent = (more: Partial<PolicyConfig>) => policy('urgent', { when: 'has(metadata.urgent)', ...more });
  const call = { metadata: { urgent: true } };
  const strict = policy('strict', { quorum: 2, reason: 'on-reject' });

  it('decides where it is at least as strict as what would decide otherwise', () => {
    expect(deciding([urgent({ quorum: 2, reason: 'always' }), strict], call)).toBe('urgent');
    expect(deciding([urgent({}), policy('weak')], call)).toBe('urgent');
  });

  it.each<[string, Partial<PolicyConfig>]>([
    ['a lower quorum', { quorum: 1, reason: 'on-reject' }],
    ['another approver', { quorum: 2, reason: 'on-reject', approvers: [personId('li'), personId('zhao')] }],
    ['self-approval', { quorum: 2, reason: 'on-reject', allowSelfApproval: true }],
    ['no reason', { quorum: 2, reason: 'never' }],
    ['a grant that lives longer', { quorum: 2, reason: 'on-reject', executeWithinMs: 700_000 }],
  ])('is passed over where it brings %s', (_, more) => {
    expect(deciding([urgent(more), strict], call)).toBe('strict');
    // The default is a rule like others where it would decide.
    expect(deciding([urgent(more)], { ...call, flagged: true }, strict)).toBe('default');
  });

  it('gates where nothing else would', () => {
    expect(deciding([urgent({})], call)).toBe('urgent');
    expect(deciding([urgent({})], {})).toBe('none');
  });

  it('is measured against the first rule that does not read the agent’s input, wherever that stands', () => {
    const alsoUrgent = policy('also', { when: 'session == ""', quorum: 3, reason: 'always' });
    expect(deciding([urgent({}), alsoUrgent, strict], call)).toBe('also');
    expect(deciding([strict, urgent({ quorum: 9 })], call)).toBe('strict');
  });

  it('does not hide that the rule behind it cannot be chosen', () => {
    const large = policy('large', { when: 'args.amount > 100' });
    expect(deciding([urgent({ quorum: 9 }), large], call)).toBe('failed');
  });

  it('denies where its own condition fails', () => {
    expect(deciding([policy('m', { when: 'metadata.level > 3' }), strict], {})).toBe('failed');
  });
});

describe('the order of strictness', () => {
  it('does not compare where and how long people are asked', () => {
    expect(isAtLeastAsStrict(rule({ decideWithinMs: 1, channels: [] }), rule())).toBe(true);
    expect(isAtLeastAsStrict(rule({ decideWithinMs: 1e9, channels: [channelId('x')] }), rule())).toBe(true);
  });

  it('compares the cool-off, who is excluded, and whom the escalation adds', () => {
    const zhaoLater = { afterMs: 1, to: [personId('zhao')] };
    const other = rule({ coolOffMs: 60_000, excluded: '"wang"' });
    expect(isAtLeastAsStrict(rule({ ...other, coolOffMs: 59_999 }), other)).toBe(false);
    expect(isAtLeastAsStrict(rule({ ...other, excluded: null }), other)).toBe(false);
    expect(isAtLeastAsStrict(rule({ ...other, excluded: '"li"' }), other)).toBe(false);
    expect(isAtLeastAsStrict(rule({ ...other, escalation: zhaoLater }), other)).toBe(false);
    expect(isAtLeastAsStrict(rule({ escalation: zhaoLater }), rule({ escalation: zhaoLater }))).toBe(true);
    expect(isAtLeastAsStrict(other, rule())).toBe(true);
  });

  it('lets every rule be as strict as itself', () => {
    expect(isAtLeastAsStrict(rule({ allowSelfApproval: true }), rule({ allowSelfApproval: true }))).toBe(
      true,
    );
  });
});

describe('speed', () => {
  it('finds the policy among 200 in well under a millisecond', () => {
    const policies = Array.from({ length: 200 }, (_, index) =>
      policy(`p${index}`, { tools: [`connector${index}__*`, `*__tool_${index}`], when: 'args.amount > 100' }),
    );
    const evaluator = createPolicyEvaluator({ ...NO_FLOOR, policies, defaultPolicy: null });
    const call = question({ tool: 'connector199__x', args: { amount: 200 } });
    for (let i = 0; i < 500; i++) evaluator.evaluate(call);
    const start = performance.now();
    for (let i = 0; i < 500; i++) evaluator.evaluate(call);
    expect((performance.now() - start) / 500).toBeLessThan(20);
  });

  it('stays there where all of them read the agent’s input and are passed over', () => {
    const policies = Array.from({ length: 200 }, (_, index) =>
      policy(`p${index}`, { when: 'metadata.a == 1' }),
    );
    const evaluator = createPolicyEvaluator({
      ...NO_FLOOR,
      policies: [...policies, policy('strict', { quorum: 2 })],
      defaultPolicy: null,
    });
    const call = question({ metadata: { a: 1 } });
    for (let i = 0; i < 50; i++) evaluator.evaluate(call);
    const start = performance.now();
    for (let i = 0; i < 50; i++) expect(evaluator.evaluate(call)).toMatchObject({ policy: { id: 'strict' } });
    expect((performance.now() - start) / 50).toBeLessThan(100);
  });
});

describe('the floor', () => {
  const everybody = ['li', 'wang', 'zhao'].map((id) => ({ ...PERSON, id: personId(id) }));
  const floor = (more: Partial<FloorConfig> = {}): FloorConfig => ({
    ...policy('floor', { tools: ['*'], quorum: 2 }),
    limits: { decideWithinMs: null, executeWithinMs: null },
    ...more,
  });
  const under = (policies: readonly PolicyConfig[], more: Partial<FloorConfig> = {}) =>
    createPolicyEvaluator({ policies, defaultPolicy: null, floor: floor(more), people: everybody });
  const decided = (policies: readonly PolicyConfig[], more: Partial<FloorConfig> = {}) => {
    const answer = under(policies, more).evaluate(question());
    if (answer.kind !== 'policy') throw new Error(`no policy: ${answer.kind}`);
    return answer.policy;
  };

  it('raises the quorum and leaves the people who may approve under both', () => {
    const lax = policy('lax', { quorum: 1, approvers: [personId('wang'), personId('zhao')] });
    expect(decided([lax])).toMatchObject({ id: 'lax', quorum: 2, approvers: ['wang'], floor: true });
  });

  it('lowers nothing that is stricter already', () => {
    const strict = policy('strict', {
      quorum: 3,
      reason: 'always',
      coolOffMs: 9_000,
      executeWithinMs: 1_000,
    });
    expect(decided([strict], { limits: { decideWithinMs: 60_000, executeWithinMs: 5_000 } })).toMatchObject({
      quorum: 3,
      reason: 'always',
      coolOffMs: 9_000,
      executeWithinMs: 1_000,
      decideWithinMs: 60_000,
    });
  });

  it('raises everything else that is laxer, and excludes whom either names', () => {
    const lax = policy('lax', { approvers: everybody.map(({ id }) => id), excluded: '"wang"' });
    const demands = { reason: 'on-reject', coolOffMs: 60_000, excluded: '"zhao"' } as const;
    const limits = { decideWithinMs: null, executeWithinMs: 1_000 };
    expect(decided([lax], { ...demands, limits })).toMatchObject({
      ...{ reason: 'on-reject', coolOffMs: 60_000, executeWithinMs: 1_000, decideWithinMs: 900_000 },
      excludedPeople: ['wang', 'zhao'],
    });
  });

  it('lets nobody approve their own request unless both say so', () => {
    const own = policy('own', { allowSelfApproval: true });
    expect(decided([own]).allowSelfApproval).toBe(false);
    expect(decided([own], { allowSelfApproval: true }).allowSelfApproval).toBe(true);
  });

  it('lets nobody in by escalation who could not approve under it', () => {
    const escalating = policy('p', { escalation: { afterMs: 1, to: [personId('zhao')] } });
    expect(decided([escalating]).escalation).toBeNull();
  });

  it('gates by itself what no policy gates, and nothing that it does not cover', () => {
    expect(decided([])).toMatchObject({ id: 'floor', quorum: 2, floor: true });
    expect(under([], { tools: ['bank__*'] }).evaluate(question())).toEqual({ kind: 'none' });
    expect(under([], { when: 'args.amount > 5' }).evaluate(question({ args: { amount: 1 } }))).toEqual({
      kind: 'none',
    });
  });

  it('whose condition fails denies the call, whatever the policy says', () => {
    const answer = under([policy('p')], { when: 'args.amount > 5' }).evaluate(question());
    expect(answer).toMatchObject({ kind: 'failed', policyId: 'floor', argument: 'amount' });
  });
});

describe('excluded', () => {
  const people = ['li', 'wang', 'zhao'].map((id) => ({ ...PERSON, id: personId(id) }));
  const answerTo = (excluded: string, args: JsonObject) =>
    createPolicyEvaluator({
      policies: [policy('p', { excluded })],
      defaultPolicy: null,
      floor: null,
      people,
    }).evaluate(question({ args }));

  it('names one person, several, or nobody, by what the call says', () => {
    const text = '{"acme": ["li"], "bolt": ["li", "wang"], "none": []}[args.payee]';
    expect(answerTo('args.owner', { owner: 'wang' })).toMatchObject({ policy: { excludedPeople: ['wang'] } });
    expect(answerTo(text, { payee: 'bolt' })).toMatchObject({ policy: { excludedPeople: ['li', 'wang'] } });
    expect(answerTo(text, { payee: 'none' })).toMatchObject({ policy: { excludedPeople: [] } });
  });

  it.each([
    ['fails', 'args.owner', {}],
    ['names somebody unknown', 'args.owner', { owner: 'nobody' }],
    ['names something that is no text', 'args.owner', { owner: 5 }],
    ['names a list of something else', 'args.owners', { owners: ['li', 5] }],
  ])('that %s denies the call', (_, excluded, args) => {
    expect(answerTo(excluded, args)).toMatchObject({ kind: 'failed', policyId: 'p' });
  });
});
