import { sql } from 'drizzle-orm';
import { until } from '../../support/until.ts';
import type { Tap } from '../callbacks.ts';
import { type ChatId, type Shown, startGate } from '../gate.ts';
import type { ChaosRow } from '../row.ts';

const LI_WEI = { 'pay-slack': 'U0LIWEI', 'pay-feishu': 'ou_liwei' } as const;
const ELSEWHERE = {
  'pay-slack': { chat: 'C0ELSEWHERE', app: 'A0ANOTHER', tenant: 'T0ANOTHER', messageId: '1799999999.000100' },
  'pay-feishu': {
    chat: 'oc_elsewhere',
    app: 'cli_ffffffffffffffff',
    tenant: 'another',
    messageId: 'om_copy',
  },
} as const;

/** An approver's own tap, rightly signed, that does not come from the card on record. */
function variants(chat: ChatId, shown: Shown, otherRequest: Shown): readonly [string, Partial<Tap>][] {
  const { chat: place, app, tenant, messageId } = ELSEWHERE[chat];
  const otherChat: ChatId = chat === 'pay-slack' ? 'pay-feishu' : 'pay-slack';
  return [
    ['other_message', { messageId }],
    ['other_message', { messageId: otherRequest.cards[chat].messageId }],
    ['other_message', { messageId: shown.cards[chat].messageId.slice(0, -1) || '1' }],
    ['other_chat', { chat: place }],
    ['other_chat', { chat: place, messageId }],
    ['other_app', { app }],
    ['other_tenant', { tenant, userTenant: chat === 'pay-slack' ? 'T0ACME' : '2f0acme' }],
    ['other_request', { confirmation: otherRequest.id }],
    ['other_request', { token: otherRequest.cards[chat].token }],
    ['other_request', { ...otherRequest.cards[chat], confirmation: shown.id }],
    ['other_channel', { token: shown.cards[otherChat].token }],
    ['unknown_token', { token: 'A'.repeat(shown.cards[chat].token.length) }],
    ['unknown_token', { token: shown.cards[chat].token.slice(0, -1) }],
    ['unknown_token', { token: `${shown.cards[chat].token}x` }],
    ['unknown_token', { token: null }],
  ];
}

export const foreignCard: ChaosRow = {
  id: 'F9',
  title: "forwarded and copied cards, another request's message or token, an old version, an unknown message",
  volume: { usual: 20, full: 240 },
  async run({ databaseUrl, rounds }) {
    const gate = await startGate(databaseUrl);
    try {
      let letIn = 0;
      let lost = 0;
      let tried = 0;
      const [shown, another] = [await gate.shown(), await gate.shown()];
      const before = await gate.state();
      const expected = new Map<string, Set<string>>();
      while (tried < rounds) {
        for (const chat of ['pay-slack', 'pay-feishu'] as const) {
          for (const [code, changes] of variants(chat, shown, another)) {
            const { status } = await gate.send(
              chat,
              gate.tap(chat, shown, { user: LI_WEI[chat], ...changes }),
            );
            if (status !== 200) lost += 1;
            tried += 1;
            // The same again is one event. A token of no card is of no request either, and counted by the hour.
            const attempt = code === 'unknown_token' ? chat : `${chat} ${JSON.stringify(changes)}`;
            expected.set(code, (expected.get(code) ?? new Set()).add(attempt));
          }
        }
      }
      if ((await gate.state()) !== before) letIn += 1;
      for (const [code, { size }] of expected) {
        const [row] = await gate.rows<{ count: number }>(countRefused(code));
        const most = code === 'unknown_token' ? 2 * size : size;
        if (row === undefined || row.count < size || row.count > most) lost += 1;
      }

      // An old picture of a closed request: told so, nothing changes.
      await gate.send('pay-feishu', gate.tap('pay-feishu', another, { user: 'ou_wang', verdict: 'reject' }));
      const closed = await gate.state();
      for (const chat of ['pay-slack', 'pay-feishu'] as const)
        await gate.send(chat, gate.tap(chat, another, { user: LI_WEI[chat] }));
      tried += 2;
      if ((await gate.state()) !== closed) letIn += 1;

      // The platform took the card and its answer is lost: the first tap that fits teaches us the message, once.
      gate.platforms.feishu.faults.next('create', { kind: 'silence', carriedOut: true });
      const id = await gate.ask();
      const [card] = await until(async () => {
        const found = await gate.rows<{ token: string }>(tokenOf(id));
        const message = gate.platforms.feishu.messages().find((one) => JSON.stringify(one.card).includes(id));
        return found[0] && message ? [{ token: found[0].token, messageId: message.messageId }] : null;
      });
      const unknown: Shown = { id, cards: { 'pay-slack': card, 'pay-feishu': card } } as Shown;
      const strange = gate.tap('pay-feishu', unknown, { user: 'ou_liwei', chat: 'oc_elsewhere' });
      await gate.send('pay-feishu', strange);
      if ((await gate.read(id)).status !== 'pending') letIn += 1;
      await gate.send('pay-feishu', gate.tap('pay-feishu', unknown, { user: 'ou_liwei' }));
      if ((await gate.read(id)).status !== 'approved') lost += 1;
      const copied = gate.tap('pay-feishu', unknown, {
        user: 'ou_wang',
        messageId: 'om_copy',
        verdict: 'reject',
      });
      await gate.send('pay-feishu', copied);
      const [row] = await gate.rows<{ ids: string[] }>(messagesOf(id));
      if (row?.ids.length !== 1 || row.ids[0] !== card?.messageId) letIn += 1;
      tried += 3;
      return {
        tried,
        lost,
        doubled: 0,
        letIn,
        note: `${expected.size} codes on the record, state unchanged`,
      };
    } finally {
      await gate.stop();
    }
  },
};

const countRefused = (code: string) =>
  sql`select count(*)::int as count from audit_events where kind = 'callback.refused' and data ->> 'code' = ${code}`;
const tokenOf = (id: string) =>
  sql`select token from deliveries where confirmation_id = ${id} and channel_id = 'pay-feishu'`;
const messagesOf = (id: string) =>
  sql`select message_ids as ids from deliveries where confirmation_id = ${id} and channel_id = 'pay-feishu'`;
