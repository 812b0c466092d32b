import { eq } from 'drizzle-orm';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { CallbackReply, TapEvent } from '../../src/channel/inbound-event.ts';
import { systemClock } from '../../src/clock.ts';
import type { PersonConfig } from '../../src/config/config.ts';
import {
  createTapHandler,
  type TapHandler,
  type TapHandlerPorts,
} from '../../src/confirmation/handle-tap.ts';
import { NOTICES, REASON_DIALOG, REFUSALS } from '../../src/confirmation/notices.ts';
import type { RefusalRecorder } from '../../src/confirmation/refused-attempt.ts';
import { REVOKE_NOTICES } from '../../src/confirmation/revoke-notices.ts';
import { createRoster } from '../../src/confirmation/roster.ts';
import type { Database } from '../../src/db/database.ts';
import { createTapDeliveries } from '../../src/db/delivery-store.ts';
import { createRefusalStore } from '../../src/db/refusal-store.ts';
import { auditEvents } from '../../src/db/schema/audit.ts';
import { deliveries } from '../../src/db/schema/deliveries.ts';
import type { ConfirmationId } from '../../src/ids.ts';
import { LOCALES } from '../../src/locale.ts';
import { feishuLike, hurriedClock, slackLike } from '../channel/delivery-harness.ts';
import { type Core, POLICY, person, startCore } from '../support/core.ts';
import { DATABASES } from '../support/databases.ts';

const ACCOUNTS: Readonly<Record<string, string>> = {
  'li.wei': 'U-LI',
  'wang.fang': 'U-WANG',
  'zhao.min': 'U-ZHAO',
  'chen.jie': 'U-SHARED',
  owner: 'U-SHARED',
  outsider: 'U-OUT',
  gone: 'U-GONE',
};
const roster = createRoster(
  Object.entries(ACCOUNTS).map(
    ([id, user]): PersonConfig => ({
      id: person(id),
      name: id,
      active: id !== 'gone',
      groups: [],
      roles: [],
      consoleKey: null,
      away: null,
      identities: [{ provider: 'slack', tenant: 'T0', ids: { user } }],
    }),
  ),
);

describe.each(DATABASES)('a tap on a card, on $name', ({ open }) => {
  let database: Database;
  let core: Core;
  let handler: TapHandler;
  let refusals: RefusalRecorder;
  const slack = slackLike();

  beforeAll(async () => {
    database = await open();
    core = startCore(database);
    refusals = createRefusalStore(database);
    handler = handlerWith({});
  });
  afterAll(async () => {
    core.stop();
    await database.close();
  });
  beforeEach(() => {
    core.policy = POLICY;
    core.inactive.clear();
  });

  const handlerWith = (changes: Partial<TapHandlerPorts>): TapHandler =>
    createTapHandler({
      confirmations: core.service,
      deliveries: createTapDeliveries(database),
      roster,
      refusals,
      clock: systemClock,
      logger: pino({ level: 'silent' }),
      timeZone: 'Asia/Shanghai',
      ...changes,
    });

  /** A pending request whose card stands in the chat as message `m-…`. */
  async function shown(
    changes: { readonly messageId?: string | null; readonly decisiveShown?: boolean } = {},
  ) {
    const id = await core.pending();
    const messageId = changes.messageId === undefined ? `m-${id}` : changes.messageId;
    const [row] = await database.connection
      .update(deliveries)
      .set({
        ...(messageId === null ? {} : { state: 'sent' as const, messageIds: [messageId] }),
        decisiveShown: changes.decisiveShown ?? true,
      })
      .where(eq(deliveries.confirmationId, id))
      .returning({ token: deliveries.token });
    if (!row) throw new Error('no delivery');
    const tap = (event: Partial<TapEvent> & { readonly user?: string } = {}): TapEvent => {
      const { user = 'U-LI', ...rest } = event;
      return {
        type: 'tap',
        actor: { provider: 'slack', tenant: 'T0', ids: { user }, isBot: false },
        app: 'A0',
        tenant: 'T0',
        chat: 'C0',
        messageId: messageId ?? `m-${id}`,
        confirmation: id,
        token: row.token,
        cardVersion: null,
        action: 'approve',
        reason: undefined,
        openedFor: null,
        eventId: null,
        handle: null,
        ...rest,
      };
    };
    return { id, tap };
  }
  const statusOf = async (id: ConfirmationId) => (await core.service.get(id))?.status;
  const english = (reply: CallbackReply): string =>
    reply.kind === 'ask-reason' ? 'asks for a reason' : reply.notice.text['en-US'];
  const lastEvent = async (id: ConfirmationId) => {
    const events = await database.connection
      .select()
      .from(auditEvents)
      .where(eq(auditEvents.confirmationId, id))
      .orderBy(auditEvents.requestSeq);
    return events.at(-1);
  };

  it('of an approver approves, and the notice says so in both languages', async () => {
    const { id, tap } = await shown();
    const reply = await handler.handle(slack, tap());
    expect(reply).toEqual({
      kind: 'notice',
      notice: {
        level: 'success',
        text: {
          'zh-CN': '已批准。执行结果会显示在卡片上。',
          'en-US': 'Approved. The card will show what becomes of it.',
        },
      },
    });
    expect(await core.service.get(id)).toMatchObject({
      status: 'approved',
      votes: [{ person: { id: 'li.wei' }, channel: 'pay-slack' }],
    });
  });

  it('counts towards a quorum, and says how many are missing', async () => {
    core.policy = { ...POLICY, quorum: 2 };
    const { id, tap } = await shown();
    expect(english(await handler.handle(slack, tap()))).toBe(
      'Your approval is recorded (1/2); 1 more needed.',
    );
    expect(english(await handler.handle(slack, tap()))).toBe(
      'You have already approved this; nothing changed (1/2).',
    );
    expect(english(await handler.handle(slack, tap({ user: 'U-WANG' })))).toMatch(/^Approved\./);
    expect(await statusOf(id)).toBe('approved');
  });

  it('that comes too late is told who decided and when', async () => {
    const { id, tap } = await shown();
    await handler.handle(slack, tap({ action: 'reject' }));
    expect(await statusOf(id)).toBe('rejected');
    expect(english(await handler.handle(slack, tap({ user: 'U-WANG' })))).toMatch(
      /^Already rejected by li\.wei at \d{4}-\d\d-\d\d \d\d:\d\d \(Asia\/Shanghai, UTC\+8\); what you did has no effect\.$/,
    );
    expect(english(await handler.handle(slack, tap({ action: 'reject' })))).toBe(
      'You have already rejected this; nothing changed.',
    );
  });

  it('past the deadline is told that it expired', async () => {
    core.policy = { ...POLICY, decideWithinMs: 1 };
    const { id, tap } = await shown();
    expect(english(await handler.handle(slack, tap()))).toMatch(/^Expired at /);
    expect(await statusOf(id)).toBe('expired');
  });

  it.each([
    ['somebody who is not an approver', { user: 'U-OUT' }, 'not_an_approver', REFUSALS.not_an_approver],
    ['the requester', { user: 'U-ZHAO' }, 'self_approval', REFUSALS.self_approval],
    ['an account that nobody has', { user: 'U-NOBODY' }, 'unknown_person', NOTICES.unknownPerson],
    ['an account of two people', { user: 'U-SHARED' }, 'ambiguous_person', NOTICES.ambiguousPerson],
    ['somebody who has left', { user: 'U-GONE' }, 'inactive_person', REFUSALS.inactive_person],
    [
      'a bot with the id of an approver',
      { actor: { provider: 'slack', tenant: 'T0', ids: { user: 'U-LI' }, isBot: true } },
      'bot',
      NOTICES.bot,
    ],
    [
      'the same user id in another tenant',
      { actor: { provider: 'slack', tenant: 'T-EVIL', ids: { user: 'U-LI' }, isBot: false } },
      'unknown_person',
      NOTICES.unknownPerson,
    ],
  ])('of %s changes nothing, is answered and is on the record', async (_who, changes, code, notice) => {
    const { id, tap } = await shown();
    expect(await handler.handle(slack, tap(changes))).toEqual({ kind: 'notice', notice });
    expect(await statusOf(id)).toBe('pending');
    expect(await lastEvent(id)).toMatchObject({ kind: 'vote.refused', data: { code, channel: 'pay-slack' } });
  });

  it.each([
    ['another app', { app: 'A-OTHER' }, 'other_app'],
    ['no app where one is configured', { app: null }, 'other_app'],
    ['another tenant', { tenant: 'T-OTHER' }, 'other_tenant'],
    ['another chat (a forwarded card)', { chat: 'C-OTHER' }, 'other_chat'],
    ['another message (a copied button)', { messageId: 'm-other' }, 'other_message'],
    ["another request's id", { confirmation: '01980000-0000-7000-8000-00000000dead' }, 'other_request'],
    [
      'another platform',
      { actor: { provider: 'feishu', tenant: 'T0', ids: { user: 'U-LI' }, isBot: false } },
      'other_channel',
    ],
  ])('from %s changes nothing and is a security event', async (_where, changes, code) => {
    const { id, tap } = await shown();
    expect(await handler.handle(slack, tap(changes))).toEqual({ kind: 'notice', notice: NOTICES.mismatch });
    expect(await statusOf(id)).toBe('pending');
    expect(await lastEvent(id)).toMatchObject({ kind: 'callback.refused', data: { code } });
  });

  it('on the old message of a card that has moved is told so', async () => {
    const { id, tap } = await shown();
    await database.connection
      .update(deliveries)
      .set({ messageIds: ['m-new'], retiredMessageIds: [`m-${id}`], unconfirmedSends: 1 })
      .where(eq(deliveries.confirmationId, id));
    expect(await handler.handle(slack, tap())).toEqual({ kind: 'notice', notice: NOTICES.movedCard });
    expect(await statusOf(id)).toBe('pending');
    expect(await lastEvent(id)).toMatchObject({ kind: 'callback.refused', data: { code: 'moved_card' } });
    await handler.handle(slack, tap({ messageId: 'm-new' }));
    expect(await statusOf(id)).toBe('approved');
  });

  it('that came in over another channel is a security event', async () => {
    const { id, tap } = await shown();
    expect(await handler.handle(feishuLike(), tap())).toEqual({ kind: 'notice', notice: NOTICES.mismatch });
    expect(await lastEvent(id)).toMatchObject({ kind: 'callback.refused', data: { code: 'other_channel' } });
  });

  it.each([null, 'not-a-token'])('with the token %s belongs to no delivery', async (token) => {
    const { id, tap } = await shown();
    expect(await handler.handle(slack, tap({ token }))).toEqual({ kind: 'notice', notice: NOTICES.mismatch });
    expect(await statusOf(id)).toBe('pending');
  });

  it('from a form that carries the token alone finds its request', async () => {
    const { id, tap } = await shown();
    await handler.handle(slack, tap({ confirmation: null }));
    expect(await statusOf(id)).toBe('approved');
  });

  it('gives a delivery the message id that it does not know yet, once', async () => {
    core.policy = { ...POLICY, quorum: 2 };
    const { id, tap } = await shown({ messageId: null });
    await handler.handle(slack, tap({ messageId: 'm-first', chat: 'C-OTHER' }));
    await handler.handle(slack, tap({ messageId: 'm-first' }));
    expect(await handler.handle(slack, tap({ messageId: 'm-second', user: 'U-WANG' }))).toEqual({
      kind: 'notice',
      notice: NOTICES.mismatch,
    });
    const [row] = await database.connection
      .select()
      .from(deliveries)
      .where(eq(deliveries.confirmationId, id));
    expect(row).toMatchObject({ state: 'sent', messageIds: ['m-first'], shownVersion: 0 });
    expect(await core.service.get(id)).toMatchObject({
      status: 'pending',
      votes: [{ person: { id: 'li.wei' } }],
    });
  });

  it("never takes another card's message for a delivery that knows none", async () => {
    const other = await shown();
    const { id, tap } = await shown({ messageId: null });
    expect(await handler.handle(slack, tap({ messageId: other.tap().messageId }))).toEqual({
      kind: 'notice',
      notice: NOTICES.mismatch,
    });
    expect(await statusOf(id)).toBe('pending');
  });

  it('cannot approve from a card that did not show what decides, but can reject', async () => {
    const { id, tap } = await shown({ decisiveShown: false });
    expect(await handler.handle(slack, tap())).toEqual({ kind: 'notice', notice: NOTICES.decisiveNotShown });
    expect(await lastEvent(id)).toMatchObject({ kind: 'vote.refused', data: { code: 'decisive_not_shown' } });
    await handler.handle(slack, tap({ action: 'reject' }));
    expect(await statusOf(id)).toBe('rejected');
  });

  describe('where a reason is asked for', () => {
    beforeEach(() => {
      core.policy = { ...POLICY, reason: 'always' };
    });

    it('asks for it first, showing again what is decided', async () => {
      const { id, tap } = await shown();
      const reply = await handler.handle(slack, tap());
      expect(reply).toMatchObject({
        kind: 'ask-reason',
        action: 'approve',
        confirmation: id,
        token: tap().token,
        title: REASON_DIALOG.approve.title,
        failure: NOTICES.reasonNotAsked,
      });
      const code = (await core.service.get(id))?.verificationCode;
      expect(reply.kind === 'ask-reason' && reply.recap).toEqual({
        'en-US': [
          ...['Amount: 68000.00', 'Currency: CNY', 'Payee: Acme', 'Tool: bank__transfer'],
          `Verification code: ${code}`,
        ],
        'zh-CN': ['金额: 68000.00', '币种: CNY', '收款方: Acme', '工具: bank__transfer', `核对码: ${code}`],
      });
      expect(await statusOf(id)).toBe('pending');
    });

    it.each(['', '  \n\t'])('says that %j is no reason', async (reason) => {
      const { id, tap } = await shown();
      expect(await handler.handle(slack, tap({ reason }))).toEqual({
        kind: 'reason-missing',
        notice: NOTICES.reasonMissing,
      });
      expect(await statusOf(id)).toBe('pending');
    });

    it('keeps the reason as it was written, up to 1,000 characters', async () => {
      const { id, tap } = await shown();
      const whole = `“金额”与合同不符\n'x' ${'很'.repeat(980)}`;
      // The family is eight units long and would end past the thousandth.
      await handler.handle(slack, tap({ action: 'reject', reason: `  ${whole}👨‍👩‍👧` }));
      expect(whole.length).toBeGreaterThan(992);
      expect(await core.service.get(id)).toMatchObject({ status: 'rejected', decision: { reason: whole } });
    });

    it('tells who could not vote anyway so, instead of asking', async () => {
      const { id, tap } = await shown();
      expect(english(await handler.handle(slack, tap({ user: 'U-OUT' })))).toBe(
        REFUSALS.not_an_approver.text['en-US'],
      );
      await core.service.cancel({ id, actor: { type: 'system' }, reason: null });
      expect(english(await handler.handle(slack, tap()))).toMatch(/^Already cancelled at /);
    });

    it('takes a reason only from the person for whom the dialog was opened', async () => {
      const { id, tap } = await shown();
      expect(await handler.handle(slack, tap({ reason: 'fine', openedFor: 'U-WANG' }))).toEqual({
        kind: 'notice',
        notice: NOTICES.otherPerson,
      });
      expect(await lastEvent(id)).toMatchObject({
        kind: 'callback.refused',
        actorId: 'li.wei',
        data: { code: 'other_person' },
      });
      await handler.handle(slack, tap({ reason: 'fine', openedFor: 'U-LI' }));
      expect(await statusOf(id)).toBe('approved');
    });
  });

  describe('on the revoke button', () => {
    beforeEach(() => {
      core.policy = { ...POLICY, coolOffMs: 300_000 };
    });
    const cooling = async () => {
      const card = await shown();
      await handler.handle(slack, card.tap());
      expect(await core.service.get(card.id)).toMatchObject({ execution: { coolingOff: true } });
      return card;
    };
    const executionOf = async (id: ConfirmationId) => {
      const request = await core.service.get(id);
      return request?.status === 'approved' ? request.execution : null;
    };

    it('takes the approval back with one tap, and says so once', async () => {
      const { id, tap } = await cooling();
      const revoke = tap({ action: 'revoke', user: 'U-WANG' });
      expect(await handler.handle(slack, revoke)).toEqual({ kind: 'notice', notice: REVOKE_NOTICES.revoked });
      expect(await executionOf(id)).toMatchObject({
        status: 'revoked',
        detail: 'revoked',
        by: { id: 'wang.fang' },
      });
      expect(await lastEvent(id)).toMatchObject({
        kind: 'grant.revoked',
        actorId: 'wang.fang',
        data: { person: 'wang.fang', channel: 'pay-slack' },
      });
      expect(english(await handler.handle(slack, revoke))).toMatch(/^Already revoked by wang\.fang at /);
      expect(english(await handler.handle(slack, tap({ action: 'revoke' })))).toMatch(
        /^Already revoked by wang/,
      );
    });

    it.each([
      ['U-OUT', REFUSALS.not_an_approver, 'grant.refused', 'not_an_approver'],
      ['U-SHARED', NOTICES.ambiguousPerson, 'vote.refused', 'ambiguous_person'],
      ['U-NOBODY', NOTICES.unknownPerson, 'vote.refused', 'unknown_person'],
    ])('by %s changes nothing and is on the record', async (user, notice, kind, code) => {
      const { id, tap } = await cooling();
      expect(await handler.handle(slack, tap({ action: 'revoke', user }))).toEqual({
        kind: 'notice',
        notice,
      });
      expect(await executionOf(id)).toMatchObject({ status: 'unclaimed' });
      expect(await lastEvent(id)).toMatchObject({ kind, data: { code } });
    });

    it.each([
      { chat: 'C-OTHER' },
      { app: 'A-OTHER' },
      { tenant: 'T-OTHER' },
      { messageId: 'm-other' },
      { token: 'x' },
    ])('of a card that is not ours (%j) changes nothing', async (forged) => {
      const { id, tap } = await cooling();
      expect(await handler.handle(slack, tap({ action: 'revoke', ...forged }))).toEqual({
        kind: 'notice',
        notice: NOTICES.mismatch,
      });
      expect(await executionOf(id)).toMatchObject({ status: 'unclaimed' });
    });

    it('works from a card that could not show what decides: it only stops', async () => {
      const { id, tap } = await cooling();
      await database.connection
        .update(deliveries)
        .set({ decisiveShown: false })
        .where(eq(deliveries.confirmationId, id));
      await handler.handle(slack, tap({ action: 'revoke' }));
      expect(await executionOf(id)).toMatchObject({ status: 'revoked' });
    });

    it('says so where there is nothing to take back, or it is too late', async () => {
      const pending = await shown();
      expect(await handler.handle(slack, pending.tap({ action: 'revoke' }))).toEqual({
        kind: 'notice',
        notice: REVOKE_NOTICES.notApproved,
      });
      core.policy = POLICY;
      const { id, tap } = await shown();
      await handler.handle(slack, tap());
      const args = (await core.service.get(id))?.args ?? {};
      await core.service.claim({ id, args, actor: { type: 'system' } });
      expect(await handler.handle(slack, tap({ action: 'revoke' }))).toEqual({
        kind: 'notice',
        notice: REVOKE_NOTICES.tooLate,
      });
    });
  });

  it('says "not recorded" when anything throws, and never that it was done', async () => {
    const { id, tap } = await shown();
    const broken = async () => {
      throw new Error('connection refused');
    };
    const failing: Partial<TapHandlerPorts>[] = [
      { confirmations: { decide: broken, revoke: broken, settle: broken } },
      { deliveries: { findByToken: broken, adoptMessage: broken, seenCard: broken } },
      {
        roster: {
          personOf: () => {
            throw new Error('directory is down');
          },
          isResolvable: () => false,
        },
      },
    ];
    for (const ports of failing) {
      expect(await handlerWith(ports).handle(slack, tap())).toEqual({
        kind: 'notice',
        notice: NOTICES.notRecorded,
      });
    }
    const unrecorded = handlerWith({ refusals: { record: broken } });
    expect(await unrecorded.handle(slack, tap({ chat: 'C-OTHER' }))).toEqual({
      kind: 'notice',
      notice: NOTICES.notRecorded,
    });
    expect(await statusOf(id)).toBe('pending');
  });

  it('that cannot be answered in time says that nothing is certain', async () => {
    const { tap } = await shown();
    const slow = handlerWith({
      clock: hurriedClock,
      confirmations: {
        decide: () => new Promise(() => {}),
        revoke: () => new Promise(() => {}),
        settle: () => new Promise(() => {}),
      },
    });
    expect(await slow.handle(slack, tap())).toEqual({ kind: 'notice', notice: NOTICES.unconfirmed });
  });

  it('leaves one winner among many, and tells every other one', async () => {
    const { id, tap } = await shown();
    const users = ['U-LI', 'U-WANG'];
    const replies = await Promise.all(
      Array.from({ length: 16 }, (_, index) => handler.handle(slack, tap({ user: users[index % 2] ?? '' }))),
    );
    const said = replies.map(english);
    expect(said.filter((text) => text.startsWith('Approved.'))).toHaveLength(1);
    expect(
      said.filter((text) => /^(Approved\.|You have already|Already approved by )/.test(text)),
    ).toHaveLength(16);
    expect(await core.service.get(id)).toMatchObject({ status: 'approved', votes: [{}] });
  });
});

describe('what people are told', () => {
  it('exists in both languages, in different words', () => {
    const all = [NOTICES, REFUSALS, REVOKE_NOTICES].flatMap((notices) => Object.values(notices));
    for (const notice of all) {
      for (const locale of LOCALES) expect(notice.text[locale].length).toBeGreaterThan(3);
      expect(notice.text['zh-CN']).toMatch(/[\u4E00-\u9FFF]/);
      expect(notice.text['en-US']).not.toMatch(/[\u4E00-\u9FFF]/);
    }
  });

  it('has dialog titles and buttons within what Slack shows', () => {
    for (const dialog of Object.values(REASON_DIALOG)) {
      for (const text of [dialog.title, dialog.submit, dialog.cancel]) {
        for (const locale of LOCALES) expect(text[locale].length).toBeLessThanOrEqual(24);
      }
    }
  });
});
