import { sql } from 'drizzle-orm';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { CallbackReply, TapEvent } from '../../src/channel/inbound-event.ts';
import { systemClock } from '../../src/clock.ts';
import type { PersonConfig } from '../../src/config/config.ts';
import { createTapHandler, type TapHandler } from '../../src/confirmation/handle-tap.ts';
import { createRoster } from '../../src/confirmation/roster.ts';
import type { Database } from '../../src/db/database.ts';
import { createTapDeliveries } from '../../src/db/delivery-store.ts';
import { createRefusalStore } from '../../src/db/refusal-store.ts';
import { rowsOf } from '../../src/db/rows-of.ts';
import { deliveries } from '../../src/db/schema/deliveries.ts';
import type { HttpApp } from '../../src/http/http-app.ts';
import { agentId, type ConfirmationId, channelId } from '../../src/ids.ts';
import { feishuLike, slackLike } from '../channel/delivery-harness.ts';
import { as, createNeighbours, startApp, UNKNOWN_ID } from '../http/http-fixture.ts';
import { type Core, POLICY, person, startCore } from '../support/core.ts';
import { DATABASES } from '../support/databases.ts';

type ChatName = 'Slack' | 'Feishu';
type SurfaceName = ChatName | 'API';

/** Everybody has an account on both platforms; two people share one on each. */
const ACCOUNTS: Readonly<Record<string, string>> = {
  'li.wei': 'li',
  'wang.fang': 'wang',
  'zhao.min': 'zhao',
  'sun.li': 'sun',
  'voter-1': 'deputy',
  gone: 'gone',
  'twin-1': 'shared',
  'twin-2': 'shared',
};
const CHATS = {
  Slack: {
    channel: slackLike(),
    tenant: 'T0',
    accountOf: (name: string) => ({ user: `U-${name}` }),
  },
  Feishu: {
    channel: feishuLike(),
    tenant: 't0',
    accountOf: (name: string) => ({ openId: `ou_${name}` }),
  },
} as const;

const roster = createRoster(
  Object.entries(ACCOUNTS).map(
    ([id, account]): PersonConfig => ({
      id: person(id),
      name: id,
      active: id !== 'gone',
      groups: [],
      roles: [],
      consoleKey: null,
      away: null,
      identities: [
        { provider: 'slack', tenant: 'T0', ids: CHATS.Slack.accountOf(account) },
        { provider: 'feishu', tenant: 't0', ids: CHATS.Feishu.accountOf(account) },
      ],
    }),
  ),
);

/** What somebody tries. `prepare` brings the request there; `chat` and `api` say how it is tried on the surface. */
interface Attempt {
  readonly what: string;
  readonly code: string;
  readonly kind?: 'vote.refused' | 'callback.refused' | 'grant.refused' | 'cancellation.refused';
  /** The person or key whom the record has to name; null where nobody is known by the account. */
  readonly who: string | null;
  readonly policy?: Partial<typeof POLICY>;
  /** Done first, from a surface that is not the one of the attempt. */
  prepare?(id: ConfirmationId, elsewhere: string): Promise<unknown>;
  readonly chat?: (account: (name: string) => TapEvent['actor']) => Partial<TapEvent>;
  readonly api?: (digest: string) => {
    readonly as: string;
    readonly body: object;
    readonly path?: string;
    readonly id?: string;
  };
}

let core: Core;
const voting =
  (who: string, channel: string, verdict: 'approve' | 'reject' = 'approve') =>
  (id: ConfirmationId) =>
    core.service.decide({
      ...{ id, person: person(who), verdict, reason: null, argsDigest: null },
      surface: channel === 'api' ? { kind: 'api' } : { kind: 'channel', id: channelId(channel) },
    });
const byTap =
  (name: string, more: Partial<TapEvent> = {}): NonNullable<Attempt['chat']> =>
  (account) => ({ actor: account(name), ...more });
const byKey =
  (who: string, more: object = {}): NonNullable<Attempt['api']> =>
  (argsDigest) => ({ as: who, body: { verdict: 'approve', argsDigest, ...more } });
const mismatch = (what: string, code: string, change: Partial<TapEvent>): Attempt => ({
  ...{ what, code, kind: 'callback.refused', who: 'li.wei', chat: byTap('li', change) },
});

const ARGS = { amount: '68000.00', currency: 'CNY', payee: 'Acme' };
const AGENT = { type: 'key', id: 'procurement', agent: agentId('procurement') } as const;
const claiming = async (id: ConfirmationId, elsewhere: string) => {
  await voting('li.wei', elsewhere)(id);
  await core.service.claim({ id, actor: AGENT, args: ARGS });
};
const ending = (status: 'succeeded' | 'unknown') => async (id: ConfirmationId, elsewhere: string) => {
  await claiming(id, elsewhere);
  await core.service.recordOutcome({ id, actor: AGENT, status, detail: null });
};
/** Over the API alone: what agents, operators and requesters try beside voting. */
const acting = (
  path: 'cancel' | 'claim' | 'outcome',
  who: string,
  code: string,
  more: { readonly body?: object; readonly prepare?: Attempt['prepare'] } = {},
): Attempt => {
  const body = more.body ?? { cancel: {}, claim: { args: ARGS }, outcome: { status: 'failed' } }[path];
  return {
    ...{ what: `${path} as ${who}`, code, who },
    kind: path === 'cancel' ? 'cancellation.refused' : 'grant.refused',
    ...(more.prepare && { prepare: more.prepare }),
    api: () => ({ as: who, path, body }),
  };
};

const ATTEMPTS: readonly Attempt[] = [
  {
    ...{ what: 'somebody who is not an approver', code: 'not_an_approver', who: 'sun.li' },
    ...{ chat: byTap('sun'), api: byKey('sun.li') },
  },
  {
    ...{ what: 'the requester', code: 'self_approval', who: 'zhao.min' },
    ...{ chat: byTap('zhao'), api: byKey('zhao.min') },
  },
  { what: "the agent's owner", code: 'not_an_approver', who: 'owner', api: byKey('owner') },
  {
    ...{ what: 'somebody whom the rule excludes', code: 'excluded', who: 'wang.fang' },
    policy: { excludedPeople: [person('wang.fang')] },
    ...{ chat: byTap('wang'), api: byKey('wang.fang') },
  },
  {
    ...{ what: 'a second account of somebody who has approved', code: 'voted_elsewhere', who: 'li.wei' },
    policy: { quorum: 2 },
    prepare: (id, elsewhere) => voting('li.wei', elsewhere)(id),
    ...{ chat: byTap('li'), api: byKey('li.wei') },
  },
  {
    ...{ what: 'the delegate of somebody who has approved', code: 'seat_taken', who: 'voter-1' },
    policy: { quorum: 2 },
    prepare: (id, elsewhere) => voting('wang.fang', elsewhere)(id),
    chat: byTap('deputy'),
  },
  {
    ...{ what: 'somebody who has left since', code: 'inactive_person', who: 'wang.fang' },
    prepare: async () => core.inactive.add('wang.fang'),
    ...{ chat: byTap('wang'), api: byKey('wang.fang') },
  },
  {
    ...{ what: 'somebody who had left before', code: 'inactive_person', who: 'gone' },
    chat: byTap('gone'),
  },
  { what: 'a key of somebody who had left', code: 'inactive_person', who: 'he.ping', api: byKey('he.ping') },
  {
    ...{ what: 'a card whose request is decided', code: 'already_decided', who: 'wang.fang' },
    prepare: (id, elsewhere) => voting('li.wei', elsewhere, 'reject')(id),
    ...{ chat: byTap('wang'), api: byKey('wang.fang') },
  },
  {
    ...{ what: 'a card whose request is withdrawn', code: 'already_decided', who: 'wang.fang' },
    prepare: (id) => core.service.cancel({ id, actor: { type: 'system' }, reason: null }),
    ...{ chat: byTap('wang'), api: byKey('wang.fang') },
  },
  {
    ...{ what: 'a card whose time is over, though nobody has closed it', code: 'expired', who: 'li.wei' },
    policy: { decideWithinMs: 1 },
    ...{ chat: byTap('li'), api: byKey('li.wei') },
  },
  {
    ...{ what: 'a card whose request has expired', code: 'expired', who: 'li.wei' },
    policy: { decideWithinMs: 1 },
    prepare: () => core.sweeper.sweep(),
    ...{ chat: byTap('li'), api: byKey('li.wei') },
  },
  {
    ...{ what: 'the digest of other arguments', code: 'args_changed', who: 'li.wei' },
    api: byKey('li.wei', { argsDigest: `sha256:${'0'.repeat(64)}` }),
  },
  {
    // 061, 062
    ...{ what: "a field that names somebody else's id", code: 'invalid_request', who: 'li.wei' },
    api: byKey('li.wei', { person: 'wang.fang' }),
  },
  { what: "an agent's key", code: 'forbidden', who: 'procurement', api: byKey('procurement') },
  { what: "an operator's key", code: 'forbidden', who: 'desk', api: byKey('desk') },
  { what: 'an account that nobody has', code: 'unknown_person', who: null, chat: byTap('nobody') },
  { what: 'an account of two people', code: 'ambiguous_person', who: null, chat: byTap('shared') },
  {
    ...{ what: "an approver's id from another tenant", code: 'unknown_person', who: null },
    chat: (account) => ({ actor: { ...account('li'), tenant: 'T-OTHER' } }),
  },
  {
    ...{ what: "a bot with an approver's id", code: 'bot', who: null },
    chat: (account) => ({ actor: { ...account('li'), isBot: true } }),
  },
  mismatch('a card in another tenant', 'other_tenant', { tenant: 'T-OTHER' }),
  mismatch('a callback of another app', 'other_app', { app: 'A-OTHER' }),
  mismatch('a card forwarded to another chat', 'other_chat', { chat: 'C-OTHER' }),
  mismatch('a button copied into another message', 'other_message', { messageId: 'm-other' }),
  mismatch("another request's id in the value", 'other_request', { confirmation: UNKNOWN_ID }),
  mismatch('a version that never went out', 'unknown_version', { cardVersion: 999 }),
  mismatch('a dialog of somebody else', 'other_person', { reason: 'ok', openedFor: 'U-WANG' }),
  {
    ...{ what: 'revoking as no approver', code: 'not_an_approver', kind: 'grant.refused', who: 'sun.li' },
    prepare: (id, elsewhere) => voting('li.wei', elsewhere)(id),
    chat: byTap('sun', { action: 'revoke' }),
    api: () => ({ as: 'sun.li', path: 'revoke', body: {} }),
  },
  {
    ...{ what: 'revoking what is not approved', code: 'not_approved', kind: 'grant.refused', who: 'li.wei' },
    chat: byTap('li', { action: 'revoke' }),
    api: () => ({ as: 'li.wei', path: 'revoke', body: {} }),
  },
  {
    ...{ what: 'revoking with a key', code: 'forbidden', kind: 'grant.refused', who: 'desk' },
    api: () => ({ as: 'desk', path: 'revoke', body: {} }),
  },
  {
    ...{ what: 'settling as no approver', code: 'not_an_approver', kind: 'grant.refused', who: 'sun.li' },
    api: () => ({ as: 'sun.li', path: 'settlement', body: { status: 'succeeded', detail: 'x' } }),
  },
  {
    ...{ what: 'settling what is known', code: 'not_unknown', kind: 'grant.refused', who: 'li.wei' },
    api: () => ({ as: 'li.wei', path: 'settlement', body: { status: 'succeeded', detail: 'x' } }),
  },
  {
    ...{ what: 'a vote without the reason that was asked for', code: 'reason_required', who: 'li.wei' },
    policy: { reason: 'always' },
    ...{ chat: byTap('li', { reason: '' }), api: byKey('li.wei', { reason: ' ' }) },
  },
  {
    ...{ what: 'settling without words', code: 'reason_required', kind: 'grant.refused', who: 'li.wei' },
    prepare: ending('unknown'),
    chat: byTap('li', { action: 'succeeded', reason: '' }),
    api: () => ({ as: 'li.wei', path: 'settlement', body: { status: 'succeeded', detail: ' ' } }),
  },
  acting('cancel', 'wang.fang', 'forbidden'),
  acting('cancel', 'sun.li', 'not_found'),
  acting('cancel', 'audit', 'forbidden'),
  acting('cancel', 'sales', 'not_found'),
  acting('cancel', 'he.ping', 'inactive_person'),
  acting('cancel', 'zhao.min', 'invalid_request', { body: { by: 'li.wei' } }),
  acting('cancel', 'procurement', 'already_decided', {
    prepare: (id, elsewhere) => voting('li.wei', elsewhere, 'reject')(id),
  }),
  acting('claim', 'procurement', 'not_approved'),
  acting('claim', 'procurement', 'args_changed', {
    body: { args: { ...ARGS, amount: '68000.01' } },
    prepare: (id, elsewhere) => voting('li.wei', elsewhere)(id),
  }),
  acting('claim', 'procurement', 'already_claimed', { prepare: claiming }),
  acting('claim', 'sales', 'not_found', {
    prepare: (id, elsewhere) => voting('li.wei', elsewhere)(id),
  }),
  acting('claim', 'li.wei', 'forbidden', {
    prepare: (id, elsewhere) => voting('li.wei', elsewhere)(id),
  }),
  acting('claim', 'procurement', 'invalid_arguments', { body: { args: { amount: '\u0000' } } }),
  acting('outcome', 'procurement', 'not_claimed'),
  acting('outcome', 'procurement', 'outcome_recorded', { prepare: ending('succeeded') }),
  acting('outcome', 'sales', 'not_found', { prepare: claiming }),
];

const surfacesOf = ({ chat, api }: Attempt): readonly SurfaceName[] => [
  ...(chat === undefined ? [] : (['Slack', 'Feishu'] as const)),
  ...(api === undefined ? [] : (['API'] as const)),
];
const CELLS = ATTEMPTS.flatMap((attempt) =>
  surfacesOf(attempt).map((surface) => ({ ...attempt, attempt, surface })),
);

describe.each(DATABASES)('a refused attempt, on $name', ({ open }) => {
  let database: Database;
  let handler: TapHandler;
  let app: HttpApp;

  beforeAll(async () => {
    database = await open();
    core = startCore(database);
    const refusals = createRefusalStore(database);
    handler = createTapHandler({
      confirmations: core.service,
      deliveries: createTapDeliveries(database),
      roster,
      refusals,
      clock: systemClock,
      logger: pino({ level: 'silent' }),
      timeZone: 'Asia/Shanghai',
    });
    app = startApp(createNeighbours(), core.service, { refusals });
  });
  afterAll(async () => {
    await app.close();
    core.stop();
    await database.close();
  });
  beforeEach(() => {
    core.inactive.clear();
    core.absences.clear();
  });

  async function pending(policy: Partial<typeof POLICY> = {}): Promise<ConfirmationId> {
    core.absences.set('wang.fang', { from: null, until: null, delegate: person('voter-1') });
    core.policy = { ...POLICY, channels: ['pay-slack', 'pay-feishu'].map(channelId), ...policy };
    const id = await core.pending();
    for (const channel of ['pay-slack', 'pay-feishu'])
      await database.connection
        .update(deliveries)
        .set({ state: 'sent', messageIds: [`m-${channel}-${id}`], decisiveShown: true })
        .where(sql`${deliveries.confirmationId} = ${id} and ${deliveries.channelId} = ${channel}`);
    return id;
  }

  async function tap(chat: ChatName, id: ConfirmationId, attempt: Attempt): Promise<CallbackReply> {
    const { channel, tenant, accountOf } = CHATS[chat];
    const [row] = await database.connection
      .select({ token: deliveries.token })
      .from(deliveries)
      .where(sql`${deliveries.confirmationId} = ${id} and ${deliveries.channelId} = ${channel.id}`);
    const actorOf = (name: string): TapEvent['actor'] => ({
      ...{ provider: channel.address.provider, tenant, ids: accountOf(name), isBot: false },
    });
    return handler.handle(channel, {
      type: 'tap',
      actor: actorOf('li'),
      app: channel.address.app,
      tenant,
      chat: channel.address.chat,
      messageId: `m-${channel.id}-${id}`,
      confirmation: id,
      token: row?.token ?? null,
      cardVersion: null,
      action: 'approve',
      reason: undefined,
      openedFor: null,
      eventId: null,
      handle: null,
      ...attempt.chat?.(actorOf),
    });
  }

  /** Makes the attempt and gives back what was said to the person, in both languages, or by the API. */
  async function make(attempt: Attempt, surface: SurfaceName, id: ConfirmationId): Promise<string[]> {
    if (surface !== 'API') {
      const reply = await tap(surface, id, attempt);
      if (reply.kind === 'ask-reason') throw new Error(`It was answered with ${reply.kind}`);
      return Object.values(reply.notice.text);
    }
    const digest = (await core.service.get(id))?.argsDigest ?? '';
    const asked = attempt.api?.(digest);
    if (asked === undefined) throw new Error('no such attempt over the API');
    const { as: who, body, path = 'votes' } = asked;
    const response = await app.inject({
      method: 'POST',
      url: `/v1/confirmations/${asked.id ?? id}/${path}`,
      headers: { ...as(who), 'accept-language': 'zh-CN,zh;q=0.9' },
      payload: body,
    });
    // People are told in their language; programs are not told in another than before.
    if (response.statusCode >= 400)
      expect(/\p{Script=Han}/u.test(response.json().detail)).toBe(/\.|owner/.test(who));
    return [String(response.statusCode), response.json().code ?? 'taken'];
  }

  const eventsOf = (id: ConfirmationId) =>
    rowsOf<{ kind: string; actor: string; code: string; channel: string }>(
      database.connection,
      sql`select kind, actor_id as actor, data ->> 'code' as code, data ->> 'channel' as channel
          from audit_events where confirmation_id = ${id} and kind like '%.refused' order by request_seq`,
    );
  /** What an attempt must not change: status, votes, grant, version. */
  const stateOf = async (id: ConfirmationId) => {
    const request = await core.service.get(id);
    return { ...request, status: request?.status === 'expired' ? 'pending' : request?.status };
  };

  it.each(CELLS)('by $what on $surface is told so, changes nothing, and is the event $code', async (cell) => {
    const { attempt, surface, code, who, kind = 'vote.refused' } = cell;
    const id = await pending(attempt.policy);
    await attempt.prepare?.(id, surface === 'API' ? 'pay-slack' : 'api');
    const before = await stateOf(id);
    const own = surface === 'API' ? 'api' : CHATS[surface].channel.id;

    const said = await make(attempt, surface, id);
    expect(said.filter((text) => text.length > 2)).toHaveLength(2);
    // The same vote again is answered as the first one was, whatever it came from.
    if (surface === 'API')
      expect(said).toEqual(
        code === 'voted_elsewhere' ? ['200', 'taken'] : [expect.stringMatching(/^4/), code],
      );
    if (code !== 'expired') expect(await stateOf(id)).toEqual(before);
    const expected = { kind, code, channel: own, actor: who ?? 'countersign' };
    expect(await eventsOf(id)).toEqual([expected]);

    // Again and again: answered the same, and nothing more on the record.
    for (let time = 0; time < 2; time += 1) expect(await make(attempt, surface, id)).toEqual(said);
    expect(await eventsOf(id)).toEqual([expected]);
  });

  it('056, 058: by the same person is refused or taken alike from each chat and the API, by one rule', async () => {
    const outcomes: Record<string, string[]> = {};
    for (const who of ['li.wei', 'zhao.min', 'sun.li'])
      for (const verdict of ['approve', 'reject'] as const)
        for (const surface of ['Slack', 'Feishu', 'API'] as const) {
          const id = await pending();
          const attempt: Attempt = {
            ...{ what: '', code: '', who },
            chat: byTap(ACCOUNTS[who] ?? '', { action: verdict }),
            api: byKey(who, { verdict }),
          };
          await make(attempt, surface, id);
          const [refused] = await eventsOf(id);
          const status = (await core.service.get(id))?.status ?? '';
          const key = `${who} ${verdict}`;
          outcomes[key] = [...(outcomes[key] ?? []), refused?.code ?? status];
        }
    const alike = (outcome: string) => [outcome, outcome, outcome];
    expect(outcomes).toEqual({
      'li.wei approve': alike('approved'),
      'li.wei reject': alike('rejected'),
      // The requester may not approve and may reject, whichever account of theirs it comes from.
      'zhao.min approve': alike('self_approval'),
      'zhao.min reject': alike('rejected'),
      'sun.li approve': alike('not_an_approver'),
      'sun.li reject': alike('not_an_approver'),
    });
  });

  it('with an id that nothing has is an event of no request, once an hour', async () => {
    const attempt: Attempt = {
      ...{ what: '', code: 'not_found', who: 'sun.li' },
      api: (argsDigest) => ({ as: 'sun.li', id: UNKNOWN_ID, body: { verdict: 'approve', argsDigest } }),
    };
    const unknown = sql`select count(*)::int as count from audit_events where confirmation_id is null
      and kind in ('vote.refused', 'callback.refused') and data ->> 'code' in ('not_found', 'unknown_token')`;
    const count = async () => (await rowsOf<{ count: number }>(database.connection, unknown))[0]?.count ?? 0;
    const id = await pending();
    const before = await count();
    for (let time = 0; time < 3; time += 1)
      expect(await make(attempt, 'API', id)).toEqual(['404', 'not_found']);
    // A test that straddles the full hour sees two.
    expect((await count()) - before).toBeGreaterThanOrEqual(1);
    expect((await count()) - before).toBeLessThanOrEqual(2);
    const forged = { ...mismatch('', 'unknown_token', { token: 'forged' }) };
    for (let time = 0; time < 3; time += 1) await make(forged, 'Slack', id);
    expect((await count()) - before).toBeGreaterThanOrEqual(2);
    expect((await count()) - before).toBeLessThanOrEqual(4);
    expect(await eventsOf(id)).toEqual([]);
  });

  it('made fifty times at once is one event, and the chain of the request stays as short', async () => {
    const attempt = ATTEMPTS.find(({ code }) => code === 'already_decided');
    if (attempt === undefined) throw new Error('no such attempt');
    const id = await pending();
    await attempt.prepare?.(id, 'api');
    const said = await Promise.all(
      Array.from({ length: 50 }, (_, index) => make(attempt, index % 2 === 0 ? 'Slack' : 'Feishu', id)),
    );
    for (const [chinese, english] of said) {
      expect(chinese).toContain('拒绝');
      expect(english).toMatch(/^Already rejected by li\.wei/);
    }
    expect((await eventsOf(id)).map(({ channel }) => channel).sort()).toEqual(['pay-feishu', 'pay-slack']);
    const [chain] = await rowsOf<{ events: number; links: number }>(
      database.connection,
      sql`select (select count(*)::int from audit_events where confirmation_id = ${id}) as events,
                 (select length from audit_chains where chain = ${`confirmation:${id}`}) as links`,
    );
    // Asked, a delegate seated, a vote, the decision, and one refusal in each chat.
    expect(chain).toEqual({ events: 6, links: 6 });
  });

  it('by a person in two ways is two events: who may not approve and rejects nevertheless has tried both', async () => {
    const id = await pending();
    const [notApprover] = ATTEMPTS;
    const revoking = ATTEMPTS.find(({ what }) => what === 'revoking as no approver');
    if (notApprover === undefined || revoking === undefined) throw new Error('no such attempt');
    await make(notApprover, 'Slack', id);
    await make(revoking, 'Slack', id);
    await make(notApprover, 'API', id);
    expect((await eventsOf(id)).map(({ kind, channel }) => `${kind} ${channel}`)).toEqual([
      'vote.refused pay-slack',
      'grant.refused pay-slack',
      'vote.refused api',
    ]);
  });

  it('is none while the person is still asked for the reason', async () => {
    const id = await pending({ reason: 'always' });
    const tapped = { ...{ what: '', code: '', who: 'li.wei' }, chat: byTap('li') };
    for (const chat of ['Slack', 'Feishu'] as const)
      expect(await tap(chat, id, tapped)).toMatchObject({ kind: 'ask-reason' });
    expect(await eventsOf(id)).toEqual([]);
  });

  it('at the switches, or at asking itself, is an event of no request, once an hour', async () => {
    const ofNothing = (kind: string) =>
      rowsOf<{ code: string; actor: string; detail: string | null }>(
        database.connection,
        sql`select data ->> 'code' as code, actor_id as actor, data ->> 'detail' as detail
            from audit_events where confirmation_id is null and kind = ${kind} order by at, id`,
      );
    const asked = { tool: 'bank__transfer', args: {}, agent: 'procurement' };
    const tries = [
      ['wang.fang', 'POST', '/v1/freezes', { tools: ['*'], reason: 'x' }],
      ['root', 'POST', '/v1/freezes', { tools: ['*'], reason: 'x' }],
      ['wang.fang', 'DELETE', `/v1/freezes/${UNKNOWN_ID}`, undefined],
      ['li.wei', 'DELETE', `/v1/freezes/${UNKNOWN_ID}`, undefined],
      ['wang.fang', 'PUT', '/v1/read-only', { readOnly: false }],
      ['procurement', 'PUT', '/v1/read-only', { readOnly: false }],
      ['sales', 'POST', '/v1/confirmations', asked],
      ['li.wei', 'POST', '/v1/confirmations', asked],
      ['procurement', 'POST', '/v1/confirmations', { ...asked, requester: 'nobody' }],
    ] as const;
    for (let time = 0; time < 2; time += 1)
      for (const [who, method, url, payload] of tries) {
        const response = await app.inject({ method, url, headers: as(who), ...(payload && { payload }) });
        expect(response.statusCode).toBeGreaterThanOrEqual(400);
        expect(response.statusCode).toBeLessThan(500);
      }
    // A test that straddles the full hour sees each twice.
    const once = <T>(events: readonly T[]) => [...new Set(events.map((event) => JSON.stringify(event)))];
    const seen = async (kind: string) =>
      once(await ofNothing(kind)).map((event) => JSON.parse(event) as { code: string; actor: string });
    expect(await seen('freeze.refused')).toEqual([
      { code: 'forbidden', actor: 'wang.fang', detail: 'freeze' },
      { code: 'forbidden', actor: 'root', detail: 'freeze' },
      { code: 'forbidden', actor: 'wang.fang', detail: 'unfreeze' },
      { code: 'not_found', actor: 'li.wei', detail: 'unfreeze' },
    ]);
    expect(await seen('read_only.refused')).toEqual([
      { code: 'forbidden', actor: 'wang.fang', detail: null },
      { code: 'forbidden', actor: 'procurement', detail: null },
    ]);
    expect(await seen('call.refused')).toEqual([
      { code: 'agent_not_allowed', actor: 'sales', detail: null },
      { code: 'forbidden', actor: 'li.wei', detail: null },
      { code: 'unknown_requester', actor: 'procurement', detail: null },
    ]);
  });

  it('to claim, again and again while people have not decided, leaves the chain as it is', async () => {
    const id = await pending();
    const lengthOf = async () =>
      (
        await rowsOf<{ length: number }>(
          database.connection,
          sql`select length from audit_chains where chain = ${`confirmation:${id}`}`,
        )
      )[0]?.length;
    const claim = () => core.service.claim({ id, actor: AGENT, args: ARGS });
    expect(await claim()).toMatchObject({ kind: 'refused', code: 'not_approved' });
    const after = await lengthOf();
    for (let time = 0; time < 20; time += 1) await claim();
    expect(await lengthOf()).toBe(after);
    // It neither uses the grant up nor stands in its way.
    await voting('li.wei', 'api')(id);
    expect(await claim()).toMatchObject({ kind: 'claimed' });
  });

  it('tells whoever may not see a request nothing of what became of it', async () => {
    const id = await pending();
    await ending('succeeded')(id, 'api');
    const digest = (await core.service.get(id))?.argsDigest;
    const post = async (who: string, path: string, payload: object) =>
      (
        await app.inject({
          method: 'POST',
          url: `/v1/confirmations/${id}/${path}`,
          headers: as(who),
          payload,
        })
      ).json();
    const vote = { verdict: 'approve', argsDigest: digest };
    const settlement = { status: 'failed', detail: 'x' };
    for (const body of [
      await post('sun.li', 'votes', vote),
      await post('sun.li', 'settlement', settlement),
      await post('sun.li', 'revoke', {}),
    ]) {
      expect(Object.keys(body)).not.toContain('decision');
      expect(Object.keys(body)).not.toContain('execution');
      expect(JSON.stringify(body)).not.toMatch(/approved|succeeded|li\.wei/);
    }
    expect(await post('wang.fang', 'votes', vote)).toMatchObject({ decision: { by: { id: 'li.wei' } } });
    expect(await post('wang.fang', 'settlement', settlement)).toMatchObject({
      execution: { status: 'succeeded' },
    });
  });

  it('of a double tap is none', async () => {
    const id = await pending({ quorum: 2 });
    const twice = ATTEMPTS.find(({ code }) => code === 'voted_elsewhere');
    if (twice === undefined) throw new Error('no such attempt');
    for (let time = 0; time < 3; time += 1) await make(twice, 'Feishu', id);
    expect(await eventsOf(id)).toEqual([]);
    expect((await core.service.get(id))?.votes).toHaveLength(1);
  });
});
