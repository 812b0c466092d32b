import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import type { Config } from '../../src/config/config.ts';
import type { ConfirmationRequest } from '../../src/confirmation/confirmation-request.ts';
import { createConfirmationService } from '../../src/confirmation/create-confirmation-service.ts';
import { explainCall } from '../../src/confirmation/explain-call.ts';
import { explanationLines } from '../../src/confirmation/explanation-lines.ts';
import { createPolicyEvaluator } from '../../src/confirmation/policy-evaluator.ts';
import { createConfirmationGate } from '../../src/confirmation/request-confirmation.ts';
import { createRoster } from '../../src/confirmation/roster.ts';
import type { Database } from '../../src/db/database.ts';
import { createRefusalStore } from '../../src/db/refusal-store.ts';
import type { HookContext } from '../../src/hook/hook-context.ts';
import { agentId, personId } from '../../src/ids.ts';
import type { JsonObject } from '../../src/json.ts';
import { LOCALES } from '../../src/locale.ts';
import { loaded } from '../config/fixtures.ts';
import { type Core, POLICY, startCore } from '../support/core.ts';
import { DATABASES } from '../support/databases.ts';

const FILE = `organization: acme
externalTools: ["bank__*", "hr__*"]
people:
  - { id: li, name: 李, groups: [finance], slack: { team: T0, user: U0LI } }
  - { id: wang, name: 王, groups: [finance], consoleKey: key-of-wang-0123456789,
      away: { from: 2020-01-01, delegate: sun } }
  - { id: zhao, name: 赵, groups: [finance], slack: { team: T0, user: U0ZHAO } }
  - { id: qian, name: 钱, groups: [finance], active: false }
  - { id: owner, name: 主, groups: [finance], consoleKey: key-of-owner-0123456789 }
  - { id: boss, name: 总, groups: [board], consoleKey: key-of-boss-0123456789 }
  - { id: sun, name: 孙, consoleKey: key-of-sun-0123456789 }
channels:
  - { id: pay-slack, kind: slack, botToken: t, signingSecret: s, team: T0, channel: C0, mode: http }
agents:
  - { id: procurement, owner: owner }
policies:
  - { id: hr, tools: ["hr__*"], approvers: ["group:finance"] }
  - { id: huge, tools: ["bank__*"], when: 'decimal(args.amount) > decimal("1000000")', approvers: ["group:finance"] }
  - { id: urgent, tools: ["bank__*"], when: 'has(metadata.urgent)', approvers: ["group:finance"] }
  - id: large
    tools: ["bank__*"]
    when: 'money(args.amount, args.currency) > money("50000", "CNY") && agent == "procurement"'
    approvers: ["group:finance", "person:wang"]
    quorum: 2
    decideWithin: 1h
    escalateAfter: { after: 10m, to: ["group:board"] }
    excluded: args.payee
floor: { tools: ["bank__*"], approvers: ["group:finance", "group:board"], reason: on-reject }
defaultPolicy: { approvers: ["group:finance"] }
`;
const ARGS = { amount: '68000.00', currency: 'CNY', payee: 'li', note: 's3cret' };

/** Another rule for everything, other groups, and people who have left. */
const CHANGED = FILE.replace(/decimal\("1000000"\)/, 'decimal("1")')
  .replace(
    'groups: [finance], slack: { team: T0, user: U0LI }',
    'slack: { team: T0, user: U0LI }, active: false',
  )
  .replace('name: 赵, groups: [finance]', 'name: 另一个, groups: [finance, board]')
  .replace('quorum: 2', 'quorum: 1')
  .replace('reason: on-reject }', 'reason: always, quorum: 2 }');

const TOOL_FACTS = {
  versionOf: () => null,
  isUnlisted: () => false,
  timeoutMsOf: () => null,
  isIdempotent: () => false,
  decisiveFieldsOf: () => [],
};

/** The rule is gone, and so are a voter, a delegate and whoever escalation names; others have other names and absences. */
const EMPTIED = FILE.replace(/ {2}- id: large\n(?: {4}.*\n)+/, '')
  .replace(/ {2}- \{ id: (?:wang|sun|boss), .*\n(?: {6}.*\n)?/g, '')
  .replace('name: 李, groups: [finance]', 'name: 改名, groups: [finance], away: { from: 2020-01-01 }')
  .replace(', "group:board"], reason: on-reject', '], reason: always')
  .replace(
    'name: 钱, groups: [finance], active: false',
    'name: 钱, groups: [finance], consoleKey: key-of-qian-0123456789',
  );

describe.each(DATABASES)('explain, on $name', ({ open }) => {
  const config = loaded(FILE).config;
  let database: Database;
  let core: Core;

  beforeAll(async () => {
    database = await open();
    core = startCore(database);
  });
  afterAll(async () => {
    core.stop();
    await database.close();
  });

  const gateOf = (under: Config) =>
    createConfirmationGate({
      organization: 'acme',
      configRevision: under.revision,
      ledger: core.ledger,
      people: createRoster(under.people),
      policies: createPolicyEvaluator(under),
      toolFacts: TOOL_FACTS,
      reach: core.reach,
      ownerOf: () => personId('owner'),
      verificationKey: 'key of the tests',
    });
  const serviceOf = (under: Config) =>
    createConfirmationService({
      ledger: core.ledger,
      clock: systemClock,
      people: createRoster(under.people),
      toolFacts: TOOL_FACTS,
      configRevision: under.revision,
      policies: createPolicyEvaluator(under),
      reach: core.reach,
      verificationKey: 'key of the tests',
      waiter: core.waiter,
      refusals: createRefusalStore(database),
      freezes: core.freezes,
      deliveriesOf: async () => new Map(),
    });
  async function asked(args: JsonObject = ARGS) {
    const answer = await gateOf(config).ask({
      context: callOf(args),
      confirmationForAll: false,
      signal: new AbortController().signal,
    });
    if (answer.kind !== 'pending') throw new Error(JSON.stringify(answer));
    return answer.confirmationId;
  }

  /** Half of the quorum, by the absent person themselves. */
  async function approvedByWang() {
    const id = await asked();
    const outcome = await serviceOf(config).decide({
      ...{ id, person: personId('wang'), verdict: 'approve', reason: null, argsDigest: null },
      surface: { kind: 'api' },
    });
    expect(outcome).toMatchObject({ kind: 'recorded', closed: false });
    return { id };
  }

  it('says which rules were tried in order, why each matched or not, and which decided', async () => {
    const explanation = await serviceOf(config).explain(await asked());
    expect(explanation?.answer).toEqual({ kind: 'asked', policy: 'large', status: 'pending' });
    expect(
      explanation?.trials?.map(({ policy, outcome, reads, stricter }) => [policy, outcome, reads, stricter]),
    ).toEqual([
      ['hr', 'tool_not_covered', [], null],
      ['huge', 'condition_false', ['args.amount'], null],
      ['urgent', 'passed_over', ['metadata.urgent'], 'large'],
      ['large', 'decided', expect.arrayContaining(['args.amount', 'args.currency', 'agent']), null],
      ['floor', 'raised', [], null],
    ]);
    expect(explanation?.rule).toMatchObject({ quorum: 2, reason: 'on-reject', floor: true });
    expect(explanation?.configRevision).toBe(config.revision);
  });

  it('names what a condition read, and no value of it', async () => {
    const explanation = await serviceOf(config).explain(await asked());
    const text = JSON.stringify(explanation);
    for (const value of ['68000.00', 's3cret']) expect(text).not.toContain(value);
  });

  it('says who could approve and why, and why not', async () => {
    const explanation = await serviceOf(config).explain(await asked());
    expect(
      explanation?.people.map(({ person, through, mayApprove, obstacles }) => [
        person.id,
        through,
        mayApprove,
        obstacles,
      ]),
    ).toEqual([
      ['li', ['group:finance'], false, ['excluded']],
      ['wang', ['group:finance', 'person:wang'], false, ['away']],
      ['zhao', ['group:finance'], false, ['requester']],
      ['owner', ['group:finance'], false, ['agent_owner']],
      ['qian', ['group:finance'], false, ['inactive_then']],
      ['boss', ['escalation'], false, ['not_escalated']],
    ]);
    expect(explanation?.people.find(({ person }) => person.id === 'wang')?.away).toMatchObject({
      delegate: { person: { id: 'sun' }, obstacles: [] },
    });
    expect(explanation?.quorum).toEqual({ needed: 2, given: 0, missing: 2, approvedBy: [] });
  });

  it('gives the same answer of an old request after the configuration has changed', async () => {
    const changed = loaded(CHANGED).config;
    expect(changed.revision).not.toBe(config.revision);
    const id = await asked();
    const open = await serviceOf(config).explain(id);
    const strip = (explanation: typeof open) =>
      explanation?.people.map((one) => ({
        ...one,
        obstacles: one.obstacles.filter((code) => code !== 'inactive_now'),
      }));
    const openLater = await serviceOf(changed).explain(id);
    expect({ ...openLater, people: strip(openLater) }).toEqual({ ...open, people: strip(open) });
    // While it is open, who has left since is marked; once it is closed, nothing is.
    expect(openLater?.people[0]?.obstacles).toEqual(['excluded', 'inactive_now']);

    await serviceOf(config).cancel({ id, actor: { type: 'system' }, reason: null });
    const closed = await serviceOf(config).explain(id);
    expect(await serviceOf(changed).explain(id)).toEqual(closed);
    expect(closed).toMatchObject({ answer: { status: 'cancelled' }, trials: open?.trials });
  });

  it('gives the same answer once the rule itself and people whom it names are gone from the file', async () => {
    const emptied = loaded(EMPTIED).config;
    expect(emptied.policies.map(({ id }) => id)).not.toContain('large');
    expect(emptied.people.map(({ id }) => id)).toEqual(['li', 'zhao', 'qian', 'owner']);
    const { id } = await approvedByWang();
    const before = await serviceOf(config).explain(id);
    expect(before?.quorum?.approvedBy).toMatchObject([{ person: { id: 'wang', name: '王' } }]);
    const open = await serviceOf(emptied).explain(id);
    expect(open).toMatchObject({ trials: before?.trials, rule: before?.rule, quorum: before?.quorum });
    // Who is not in the file at all has left as well.
    const left = open?.people.filter(({ obstacles }) => obstacles.includes('inactive_now'));
    expect(left?.map(({ person }) => person.id)).toEqual(['wang', 'boss']);

    await serviceOf(config).cancel({ id, actor: { type: 'system' }, reason: null });
    const closed = await serviceOf(config).explain(id);
    expect(await serviceOf(emptied).explain(id)).toEqual(closed);
    for (const locale of LOCALES) {
      if (closed === null) throw new Error('no explanation');
      const { argsDigest, verificationCode } = closed.call;
      const lines = explanationLines(closed, locale).join('\n');
      for (const words of ['王 (wang)', argsDigest, verificationCode])
        expect(lines).toContain(words ?? 'kept with each request');
    }
  });

  describe('at the moment', () => {
    const li = { id: personId('li'), name: '李' };
    const end = async (freeze: string) => {
      for (const id of ['li', 'zhao'])
        await core.freezes.end({ id: freeze, by: { id: personId(id), name: id }, mayStill: () => true });
    };

    it('says which freezes hold the request, and which only its tool', async () => {
      const id = await asked();
      const other = await core.freezes.start({ tools: ['hr__*'], reason: 'audit', by: li });
      const all = await core.freezes.start({ tools: ['bank__*'], reason: 'the bank is down', by: li });
      const now = async () => (await serviceOf(config).explain(id))?.now;
      expect(await now()).toEqual({
        freezes: [
          {
            id: all.id,
            tools: ['bank__*'],
            reason: 'the bank is down',
            startedAt: all.startedAt.toISOString(),
            startedBy: li,
            holdsRequest: true,
          },
        ],
        ...NOTHING_ELSE,
      });
      await serviceOf(config).cancel({ id, actor: { type: 'system' }, reason: null });
      expect((await now())?.freezes).toMatchObject([{ id: all.id, holdsRequest: false }]);
      for (const freeze of [all, other]) await end(freeze.id);
      expect(await now()).toEqual({ freezes: [], ...NOTHING_ELSE });
    });

    it('says that writing is switched off, and that the tool is another one, while that would revoke the grant', async () => {
      core.policy = POLICY;
      const metadata = { connector: 'bank', writes: true };
      const id = await core.pending({ amount: '1' }, { metadata });
      const reading = await core.pending({ amount: '2' }, { metadata: { ...metadata, writes: false } });
      const now = async (of = id) => (await core.service.explain(of))?.now;
      const switchTo = (organization: boolean, connectors: readonly string[]) =>
        database.connection.execute(
          sql`update gate_controls set read_only_organization = ${organization},
              read_only_connectors = ${connectors.length === 0 ? sql`'{}'` : sql`array['bank']`}`,
        );
      await switchTo(false, ['bank']);
      expect([(await now())?.readOnly, (await now(reading))?.readOnly]).toEqual(['connector', null]);
      await switchTo(true, ['bank']);
      expect((await now())?.readOnly).toBe('organization');
      core.versions.set('bank__transfer', 'sha256:other');
      expect(await now()).toMatchObject({ readOnly: 'organization', toolChanged: true });
      await core.service.cancel({ id, actor: { type: 'system' }, reason: null });
      expect(await now()).toMatchObject({ readOnly: null, toolChanged: false });
      core.versions.clear();
      await switchTo(false, []);
    });

    it('says until when an approval cools off', async () => {
      core.policy = { ...POLICY, coolOffMs: 300_000 };
      const id = await core.pending();
      await core.service.decide({
        ...{ id, person: personId('li.wei'), verdict: 'approve', reason: null, argsDigest: null },
        surface: { kind: 'api' },
      });
      const request = await core.service.get(id);
      const until = executableFromOf(request)?.toISOString();
      expect((await core.service.explain(id))?.now).toEqual({
        ...{ freezes: [], ...NOTHING_ELSE, coolingOffUntil: until },
      });
      const freeze = await core.freezes.start({ tools: ['*'], reason: 'stop', by: li });
      expect((await core.service.explain(id))?.now).toMatchObject({
        freezes: [{ id: freeze.id, holdsRequest: true }],
        coolingOffUntil: until,
      });
      await core.service.cancel({ id, actor: { type: 'system' }, reason: null });
      expect((await core.service.explain(id))?.now).toMatchObject({
        freezes: [{ holdsRequest: false }],
        coolingOffUntil: null,
      });
      await end(freeze.id);
    });

    it.each([
      [
        'zh-CN',
        ['已冻结，暂不执行：李 (li) 自 ', '冷静期至 2026-11-30T10:00:00.000Z'],
        ['此连接器的写入已关闭', '工具的定义在提出请求后已变更'],
      ],
      [
        'en-US',
        ['Frozen, so it does not run: 李 (li) froze bank__* at ', 'Cooling off until 2026-11-30T10:00'],
        ['Writing is switched off for the connector', 'The tool is another one than was asked about'],
      ],
    ] as const)('reads so in %s', async (locale, waiting, revoking) => {
      const lines = explanationLines(
        {
          ...explainCall({ config, ...questionOf(ARGS) }),
          now: {
            freezes: [
              {
                ...{ id: 'f', tools: ['bank__*'], reason: 'down', startedBy: li, holdsRequest: true },
                startedAt: '2026-11-30T09:00:00.000Z',
              },
            ],
            ...{ readOnly: 'connector', toolChanged: true, coolingOffUntil: '2026-11-30T10:00:00.000Z' },
          },
        },
        locale,
      );
      for (const words of [...waiting, ...revoking])
        expect(lines).toContainEqual(expect.stringContaining(words));
    });
  });

  it('is kept as it was written', async () => {
    const id = await asked();
    await expect(
      database.connection.execute(
        sql`update explanations set explanation = '{}'::jsonb where confirmation_id = ${id}`,
      ),
    ).rejects.toThrow();
    await expect(
      database.connection.execute(sql`delete from explanations where confirmation_id = ${id}`),
    ).rejects.toThrow();
  });

  it('says of a request from before it was kept only what the request itself holds', async () => {
    const id = await asked();
    await database.connection.execute(sql`alter table explanations disable trigger explanations_guard`);
    await database.connection.execute(sql`delete from explanations where confirmation_id = ${id}`);
    await database.connection.execute(sql`alter table explanations enable trigger explanations_guard`);
    const explanation = await serviceOf(config).explain(id);
    expect(explanation).toMatchObject({ trials: null, rule: { id: 'large' }, quorum: { needed: 2 } });
    expect(explanation?.people.map(({ person }) => person.id)).toContain('li');
  });

  it('is the same for the same call before it happens', async () => {
    const stored = await serviceOf(config).explain(await asked());
    const tried = explainCall({ config, ...questionOf(ARGS) });
    // Only that the delegate's standing in is on the record already, that nothing stops what does not exist, and that
    // it has neither code nor digest yet.
    const seated = (explanation: typeof stored) => ({
      ...JSON.parse(JSON.stringify(explanation).replaceAll('"isSeated":true', '"isSeated":false')),
      call: { ...explanation?.call, argsDigest: null, verificationCode: null },
      now: null,
    });
    expect(seated(tried)).toEqual(seated(stored));
    expect([tried.now, stored?.now]).toEqual([null, { freezes: [], ...NOTHING_ELSE }]);
  });

  it.each(LOCALES)('reads as lines in %s', async (locale) => {
    const lines = explanationLines(explainCall({ config, ...questionOf(ARGS) }), locale).join('\n');
    for (const name of ['hr', 'huge', 'urgent', 'large', 'floor', '李 (li)', '孙 (sun)', '0/2'])
      expect(lines).toContain(name);
    expect(lines).not.toMatch(/undefined|\[object/);
  });

  it('says of a call why nobody is asked, and why it is denied', () => {
    expect(explainCall({ config, ...questionOf({ amount: 'much' }) }).answer).toMatchObject({
      kind: 'denied',
      argument: 'amount',
    });
    const quiet = loaded(FILE.replace(/floor: .*\n/, '')).config;
    const allowed = explainCall({ config: quiet, ...questionOf({ ...ARGS, amount: '1.00' }, {}) });
    expect(allowed.answer).toEqual({ kind: 'allowed' });
    expect(allowed.trials?.at(-1)).toMatchObject({ policy: 'default', outcome: 'not_flagged' });
  });
});

const NOTHING_ELSE = { readOnly: null, toolChanged: false, coolingOffUntil: null } as const;

const questionOf = (args: JsonObject, metadata: JsonObject = { urgent: true }) => ({
  question: {
    tool: 'bank__transfer',
    args,
    agent: 'procurement',
    requester: 'zhao',
    session: null,
    metadata,
    flagged: false,
  },
  agentOwner: personId('owner'),
  now: new Date(),
});

const callOf = (args: JsonObject): HookContext => ({
  toolName: 'bank__transfer',
  toolArgs: args,
  agentId: agentId('procurement'),
  userId: personId('zhao'),
  sessionId: null,
  runId: null,
  metadata: {
    organization: 'acme',
    conversation: null,
    connector: null,
    toolVersion: null,
    writes: true,
    requiresConfirmation: false,
    invocationId: null,
    callId: null,
    parentRunId: null,
    evaluation: false,
    ask: {
      apiKeyId: 'k',
      idempotencyKey: null,
      bodyDigest: null,
      summary: null,
      metadata: { urgent: true },
      requesterNamedByAgent: false,
    } as unknown as HookContext['metadata']['ask'],
  },
});

const executableFromOf = (request: ConfirmationRequest | null): Date | null =>
  request?.status === 'approved' && 'executableFrom' in request.execution
    ? request.execution.executableFrom
    : null;
