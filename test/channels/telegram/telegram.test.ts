import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTelegramClient } from '../../../channels/telegram/client.ts';
import { telegramChannelKind } from '../../../channels/telegram/index.ts';
import { readPromptMark, writePromptMark } from '../../../channels/telegram/wire.ts';
import type { Channel, OutgoingDelivery } from '../../../src/channel/channel.ts';
import { systemClock } from '../../../src/clock.ts';
import { channelId, newDeliveryId } from '../../../src/ids.ts';
import { freePort } from '../../support/free-port.ts';
import { until } from '../../support/until.ts';
import { closedCard, sampleCard } from '../sample-card.ts';
import { startTelegramRig, type TelegramRig } from './telegram-rig.ts';

const TOKEN = 'AbCdEfGhIjKlMnOpQrStUv';
const SETTINGS = { botToken: '666:AAsecret', webhookSecret: 'a-secret-of-sixteen-and-more', chat: '-100123' };
const signal = new AbortController().signal;

describe('the settings of a Telegram channel', () => {
  const faultsOf = (settings: unknown) =>
    telegramChannelKind.settings.safeParse(settings).error?.issues.map(({ path }) => path.join('.')) ?? [];

  it('default to the public API and a webhook, and name every secret', () => {
    const settings = telegramChannelKind.settings.parse(SETTINGS);
    expect(settings).toMatchObject({ ...SETTINGS, apiUrl: 'https://api.telegram.org', mode: 'webhook' });
    expect(telegramChannelKind.secrets(settings)).toEqual([SETTINGS.botToken, SETTINGS.webhookSecret]);
  });

  it('need no secret where we ask', () => {
    const settings = telegramChannelKind.settings.parse({ ...SETTINGS, webhookSecret: '', mode: 'polling' });
    expect(telegramChannelKind.secrets(settings)).toEqual([SETTINGS.botToken]);
  });

  it.each([
    ['without a secret', { webhookSecret: undefined }, 'webhookSecret'],
    ['with an empty secret', { webhookSecret: '' }, 'webhookSecret'],
    ['with a short secret', { webhookSecret: 'short' }, 'webhookSecret'],
    ['with a secret that polling does not use', { mode: 'polling' }, 'webhookSecret'],
    ['without a token', { botToken: undefined }, 'botToken'],
    ['with a token of another shape', { botToken: 'xoxb-1' }, 'botToken'],
    ['with a name for a chat', { chat: '@finance' }, 'chat'],
    ['with a mode that nobody knows', { mode: 'socket' }, 'mode'],
  ])('are refused %s', (_what, change, path) => {
    expect(faultsOf({ ...SETTINGS, ...change })).toEqual([path]);
  });

  it('know a person by a number, not by a name', () => {
    const ids = { user: '123456' };
    expect(telegramChannelKind.identity.parse(ids)).toEqual({
      provider: 'telegram',
      tenant: 'telegram',
      ids,
    });
    expect(telegramChannelKind.identity.safeParse({ user: '@liwei' }).success).toBe(false);
  });
});

describe('a channel in Telegram', () => {
  let rig: TelegramRig;
  let channel: Channel;

  beforeAll(async () => {
    rig = await startTelegramRig({ chat: -100123 });
    channel = telegramChannelKind.create({
      id: channelId('pay-telegram'),
      settings: telegramChannelKind.settings.parse({ ...SETTINGS, apiUrl: `${rig.url}/` }),
      locale: 'en-US',
      clock: systemClock,
      logger: pino({ level: 'silent' }),
    });
    await channel.start();
  });
  afterAll(async () => {
    await channel.stop();
    await rig.stop();
  });

  const outgoing = (card = sampleCard(), changes: Partial<OutgoingDelivery> = {}): OutgoingDelivery => ({
    id: newDeliveryId(),
    confirmationId: card.confirmationId,
    token: TOKEN,
    rendered: channel.render(card, TOKEN),
    attempt: 1,
    signal,
    ...changes,
  });
  const sendCard = async (card = sampleCard()) => {
    const outcome = await channel.send(outgoing(card));
    if (outcome.kind !== 'sent') throw new Error(JSON.stringify(outcome));
    return outcome.messageId;
  };
  const shown = (messageId: string) =>
    rig.messagesOf(SETTINGS.botToken).find((message) => String(message.messageId) === messageId);

  it('says that it is signed in', async () => {
    await until(() => channel.health().ready);
  });

  it('shows a card with no markup and no preview, what decides first, and its final state in its place', async () => {
    const card = sampleCard({ title: 'Approve? *bold* @everyone https://evil.example' });
    const messageId = await sendCard(card);
    const { args } = rig.callsOf('sendMessage').at(-1) ?? {};
    expect(args).toMatchObject({ chat_id: '-100123', link_preview_options: { is_disabled: true } });
    expect(args).not.toHaveProperty('parse_mode');
    const text = String(args?.text);
    const body = text.slice(0, text.lastIndexOf('\n'));
    // Inside code Telegram makes nothing of what looks like a link or a mention; only our own address is outside.
    expect(args?.entities).toEqual([{ type: 'code', offset: 0, length: body.length }]);
    expect(text.slice(body.length + 1)).toBe(card.link);
    expect(body.split('\n').slice(0, 5)).toEqual([
      `🟡 ${card.title}`,
      'amount: 68000.00',
      'currency: CNY',
      'payee: 上海示例科技有限公司',
      '工具: oa__purchase_pay',
    ]);
    expect(shown(messageId)?.buttons.map(({ callback_data }) => callback_data)).toEqual([
      `a.${TOKEN}.1`,
      `r.${TOKEN}.1`,
    ]);
    const closed = outgoing(closedCard(card));
    expect(await channel.update({ ...closed, messageId })).toEqual({ kind: 'updated' });
    expect(shown(messageId)).toMatchObject({ buttons: [], text: expect.stringContaining('已批准并已执行') });
  });

  it('ends with the address of the request that was rejected before, where there is one', () => {
    const followedLink = { label: '查看此前被拒的请求', url: 'https://gate.example/requests/0198' };
    const card = sampleCard({ followedLink });
    const { text, entities } = JSON.parse(channel.render(card, TOKEN).payload);
    expect(text.slice(entities[0].length)).toBe(`\n${card.link}\n${followedLink.label}: ${followedLink.url}`);
  });

  it('stays within 4,096 units, cuts with a mark, and keeps what decides whole', () => {
    const memo = '长'.repeat(9_000);
    const lines = [
      ...sampleCard().lines,
      ...Array.from({ length: 60 }, (_, at) => ({ label: `memo${at}`, value: memo, decisive: false })),
    ];
    const facts = Array.from({ length: 40 }, () => ({ label: 'x', value: '😀'.repeat(2_000) }));
    const rendered = channel.render(sampleCard({ lines, facts, title: memo }), TOKEN);
    const { text } = JSON.parse(rendered.payload);
    expect(text.length).toBeLessThanOrEqual(4096);
    expect(text.isWellFormed()).toBe(true);
    expect(text).toContain('payee: 上海示例科技有限公司');
    expect(text).toContain('请查看完整请求');
    expect(text).toContain(sampleCard().link);
    expect(rendered.decisiveShown).toBe(true);
  });

  it('writes to a person by their number, and says in which chat', async () => {
    const outcome = await channel.send(
      outgoing(sampleCard(), { direct: { ids: { user: '1001' }, chat: null } }),
    );
    expect(outcome).toMatchObject({ kind: 'sent', chat: '1001' });
  });

  it('reminds by a reply to the card', async () => {
    const messageId = await sendCard();
    const text = 'Still waiting: @all';
    expect(
      await channel.remind?.({ id: newDeliveryId(), messageId, text, quiet: false, signal }),
    ).toMatchObject({
      kind: 'sent',
    });
    expect(rig.callsOf('sendMessage').at(-1)?.args).toMatchObject({
      text,
      entities: [{ type: 'code', offset: 0, length: text.length }],
      reply_parameters: { message_id: Number(messageId) },
    });
    expect(rig.callsOf('sendMessage').at(-1)?.args).not.toHaveProperty('disable_notification');

    await channel.remind?.({ id: newDeliveryId(), messageId, text, quiet: true, signal });
    expect(rig.callsOf('sendMessage').at(-1)?.args).toMatchObject({ disable_notification: true });
  });

  it.each([
    [429, 'Too Many Requests: retry after 7', { retry_after: 7 }, { kind: 'retry', retryAfterMs: 7_000 }],
    [403, 'Forbidden: bot was kicked from the supergroup chat', {}, { kind: 'refused' }],
    [400, 'Bad Request: chat not found', {}, { kind: 'refused' }],
    [401, 'Unauthorized', {}, { kind: 'refused' }],
    [400, 'Bad Request: message is too long', {}, { kind: 'content-refused' }],
    [502, 'Bad Gateway', {}, { kind: 'uncertain' }],
  ])('takes %i %s on sending for what it is', async (code, description, parameters, expected) => {
    rig.fail('sendMessage', code, description, parameters);
    expect(await channel.send(outgoing())).toMatchObject(expected);
  });

  it.each([
    [400, 'Bad Request: message is not modified: specified new message content', { kind: 'updated' }],
    [400, 'Bad Request: message to edit not found', { kind: 'gone' }],
    [403, 'Forbidden: bot was blocked by the user', { kind: 'refused' }],
    [500, 'Internal Server Error', { kind: 'uncertain' }],
  ])('takes %i %s on changing for what it is', async (code, description, expected) => {
    rig.fail('editMessageText', code, description);
    expect(await channel.update({ ...outgoing(), messageId: '1' })).toMatchObject(expected);
  });

  it('says what to do about a refusal, and keeps the token out of every error', async () => {
    rig.fail('sendMessage', 403, "Forbidden: bot can't initiate conversation with a user");
    const outcome = await channel.send(outgoing());
    expect(channel.advise?.('error' in outcome ? outcome.error : '')?.['en-US']).toContain('press Start');
    const client = createTelegramClient({
      ...{ ...SETTINGS, clock: systemClock },
      apiUrl: `http://127.0.0.1:${await freePort()}`,
    });
    const refused = await client.call({ method: 'getMe' });
    expect(refused).toMatchObject({ kind: 'not-done', error: expect.stringContaining('cannot connect') });
    expect(JSON.stringify(refused)).not.toContain('AAsecret');
  });

  it('acts on no button that stands on no message', async () => {
    const update = {
      update_id: 1,
      callback_query: { id: '1', from: { id: 1, is_bot: false }, data: 'a.b.1' },
    };
    const headers = { 'x-telegram-bot-api-secret-token': SETTINGS.webhookSecret };
    const result = await channel.receive({ headers, body: Buffer.from(JSON.stringify(update)) });
    expect(result).toMatchObject({ kind: 'event', event: { type: 'unsupported' } });
  });

  it('is checked step by step, and says what is missing', async () => {
    const callbackUrl = 'https://gate.example/channels/pay-telegram/callback';
    const findings = async () => {
      const all = [];
      const needs = { direct: false, directory: false };
      for await (const found of channel.diagnose?.({ callbackUrl, needs, signal }) ?? []) all.push(found);
      return all.slice(0, 3).map(({ state, text }) => [state, text['en-US']]);
    };
    rig.answer('getChat', { id: -100123 });
    rig.answer('getWebhookInfo', { url: callbackUrl });
    expect(await findings()).toEqual([
      ['ok', 'signed in as bot 666'],
      ['ok', 'the bot sees the chat -100123'],
      ['ok', `Telegram calls ${callbackUrl}`],
    ]);
    rig.fail('getChat', 400, 'Bad Request: chat not found');
    rig.answer('getWebhookInfo', { url: '' });
    expect(await findings()).toEqual([
      ['ok', 'signed in as bot 666'],
      ['failed', 'getChat: 400 Bad Request: chat not found'],
      ['failed', 'the bot has no webhook'],
    ]);
  });

  it('reads back only its own question, for the person, chat and card that it was asked for', () => {
    const { botToken } = SETTINGS;
    const context = {
      action: 'reject',
      token: TOKEN,
      cardVersion: 3,
      messageId: '412',
      person: '1001',
      chat: '-100123',
    } as const;
    const text = `Why?\n${writePromptMark(context, botToken)}`;
    expect(readPromptMark(text, '-100123', botToken)).toEqual(context);
    for (const changed of [
      text.replace('#r', '#a'),
      text.replace('1001', '1002'),
      text.replace('412', '413'),
    ])
      expect(readPromptMark(changed, '-100123', botToken)).toBeNull();
    expect(readPromptMark(text, '-100124', botToken)).toBeNull();
    expect(readPromptMark(text, '-100123', '666:another')).toBeNull();
    expect(readPromptMark(`${text}\nmore`, '-100123', botToken)).toBeNull();
  });
});
