import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunningService } from '../../../src/main.ts';
import { type ConfirmationJson, call, read } from '../../e2e/api.ts';
import { KEYS } from '../../e2e/platforms.ts';
import { startServiceInProcess } from '../../e2e/service-in-process.ts';
import { newPostgresDatabase } from '../../support/databases.ts';
import { until } from '../../support/until.ts';
import { startTelegramRig, type TelegramRig } from './telegram-rig.ts';

const CHAT = -1001234567890;
const CALLED = '666:AAwebhook';
const ASKING = '777:AApolling';
const SECRET = 'a-secret-of-sixteen-and-more';
const LI_WEI = { user: 1001, language: 'zh-hans' };
const WANG_FANG = { user: 1002, language: 'en' };
const STRANGER = { user: 4242, language: 'de' };

describe('a service with two bots in Telegram, one called and one that asks', () => {
  let rig: TelegramRig;
  let service: RunningService;
  let folder: string;

  beforeAll(async () => {
    rig = await startTelegramRig({ chat: CHAT });
    folder = await mkdtemp(join(tmpdir(), 'countersign-telegram-'));
    service = await startServiceInProcess(`
organization: acme
listen: { host: 127.0.0.1, port: 0 }
database: ${await newPostgresDatabase()}
dataDir: ${folder}
apiKeys:
  - { id: procurement, key: ${KEYS.agent}, role: agent, agents: [procurement], requesters: ["*"] }
  - { id: audit-desk, key: ${KEYS.auditor}, role: auditor }
people:
  - { id: li.wei, name: 李伟, groups: [finance], telegram: { user: "1001" } }
  - { id: wang.fang, name: 王芳, groups: [finance], telegram: { user: "1002" } }
  - { id: zhao.min, name: 赵敏 }
channels:
  - { id: called, kind: telegram, apiUrl: "${rig.url}", botToken: "${CALLED}", webhookSecret: ${SECRET}, chat: "${CHAT}", messagesPerSecond: 100 }
  - { id: asking, kind: telegram, apiUrl: "${rig.url}", botToken: "${ASKING}", chat: "${CHAT}", messagesPerSecond: 100, mode: polling }
policies:
  - { id: called, tools: ["called__*"], approvers: ["group:finance"], channels: [called], reason: on-reject }
  - { id: asking, tools: ["asking__*"], approvers: ["group:finance"], channels: [asking], reason: on-reject }
externalTools: ["called__*", "asking__*"]
agents:
  - { id: procurement, owner: zhao.min }
`);
    rig.callWebhook(CALLED, { url: callback(), secret: SECRET });
    await until(async () => (await fetch(`${service.url}/readyz`)).status === 200);
  }, 60_000);
  afterAll(async () => {
    await service.stop();
    await rig.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const callback = () => `${service.url}/channels/called/callback`;

  const ask = async (tool: string, payee: string) => {
    const { body } = await call<{ confirmation: ConfirmationJson }>(
      service.url,
      'POST',
      '/v1/confirmations',
      {
        body: {
          tool,
          args: { amount: '68000.00', currency: 'CNY', payee },
          agent: 'procurement',
          requester: 'zhao.min',
        },
      },
    );
    const { id } = body.confirmation;
    const botToken = tool.startsWith('called') ? CALLED : ASKING;
    const card = () => rig.messagesOf(botToken).find(({ text }) => text.includes(payee));
    const { messageId, buttons } = await until(card);
    // Before its message is on record, the first tap says which one it is.
    await until(async () => (await read(service.url, id)).deliveries[0]?.state === 'sent');
    const [approve = '', reject = ''] = buttons.map(({ callback_data }) => callback_data);
    return { botToken, messageId, approve, reject, card, request: () => read(service.url, id) };
  };

  /** What the person who tapped is told, once they are. */
  const toastAfter = async (work: () => Promise<unknown>): Promise<string> => {
    const before = rig.callsOf('answerCallbackQuery').length;
    await work();
    const answer = await until(() => rig.callsOf('answerCallbackQuery')[before]);
    return String(answer.args.text);
  };

  it.each(['called__pay', 'asking__pay'])('takes an approval of %s, and closes the card', async (tool) => {
    const { botToken, messageId, approve, card, request } = await ask(tool, `甲公司 ${tool}`);
    expect(card()?.text).toContain('68000.00');
    expect(Buffer.byteLength(approve)).toBeLessThanOrEqual(64);
    const toast = await toastAfter(() => rig.tap(botToken, LI_WEI, messageId, approve));
    expect(toast).toMatch(/^✅ .*\p{Script=Han}/u);
    expect(toast.length).toBeLessThanOrEqual(200);
    expect(await request()).toMatchObject({ status: 'approved', votes: [{ person: { id: 'li.wei' } }] });
    await until(() => card()?.buttons.every(({ callback_data }) => callback_data.startsWith('v.')));
    // The same tap again changes nothing, and is answered.
    expect(await toastAfter(() => rig.tap(botToken, LI_WEI, messageId, approve))).not.toBe('');
    expect((await request()).votes).toHaveLength(1);
  });

  it.each([
    ['a stranger', { tapper: STRANGER }],
    ['a bot', { tapper: { ...LI_WEI, isBot: true } }],
    ['another chat', { tapper: { ...LI_WEI, chat: -42 } }],
    ['another message', { message: 7_000 }],
    ['a forged token', { data: (data: string) => data.replace(/\..{22}\./, '.AAAAAAAAAAAAAAAAAAAAAA.') }],
    ['a version that never went out', { data: (data: string) => data.replace(/\d+$/, '99') }],
  ] as const)('refuses a tap by, in or with %s, and says so', async (what, change) => {
    const {
      tapper = LI_WEI,
      message,
      data = (text: string) => text,
    } = change as {
      tapper?: typeof LI_WEI;
      message?: number;
      data?: (text: string) => string;
    };
    const { botToken, messageId, approve, request } = await ask('called__pay', `乙公司 ${what}`);
    const toast = await toastAfter(() => rig.tap(botToken, tapper, message ?? messageId, data(approve)));
    expect(toast).not.toMatch(/^✅|^undefined/);
    expect(await request()).toMatchObject({ status: 'pending', votes: [] });
  });

  it('refuses a tap under one bot’s secret that carries the other bot’s token', async () => {
    const { approve, messageId, request } = await ask('asking__pay', '丙公司');
    await toastAfter(() => rig.tap(CALLED, LI_WEI, messageId, approve));
    expect(await request()).toMatchObject({ status: 'pending' });
  });

  it.each([
    ['without', null],
    ['with a wrong', 'another-secret-of-sixteen'],
  ])('answers 401 to a call %s secret, and changes nothing', async (what, secret) => {
    const { botToken, messageId, approve, request } = await ask('called__pay', `丁公司 ${what}`);
    rig.callWebhook(CALLED, { url: callback(), secret });
    const before = rig.webhookAnswers.length;
    await rig.tap(botToken, LI_WEI, messageId, approve);
    expect(await until(() => rig.webhookAnswers[before])).toBe(401);
    rig.callWebhook(CALLED, { url: callback(), secret: SECRET });
    expect(await request()).toMatchObject({ status: 'pending' });
  });

  it.each(['called__pay', 'asking__pay'])(
    'asks why %s is rejected, and takes the reply of that person alone',
    async (tool) => {
      const { botToken, messageId, reject, request } = await ask(tool, `戊公司 ${tool}`);
      const before = rig.messagesOf(botToken).length;
      await rig.tap(botToken, WANG_FANG, messageId, reject);
      const prompt = await until(() => rig.messagesOf(botToken)[before]);
      expect(prompt.text).toContain('68000.00');
      const { args } = rig.callsOf('sendMessage').at(-1) ?? {};
      expect(args).toMatchObject({ reply_markup: { force_reply: true, selective: true } });

      const answered = async (work: () => Promise<unknown>) => {
        const count = rig.messagesOf(botToken).length;
        await work();
        return (await until(() => rig.messagesOf(botToken)[count])).text;
      };
      expect(await answered(() => rig.replyTo(botToken, LI_WEI, prompt, 'not mine'))).not.toMatch(/^✅/);
      expect(await request()).toMatchObject({ status: 'pending' });
      expect(await answered(() => rig.replyTo(botToken, WANG_FANG, prompt, 'wrong payee'))).toMatch(/^✅/);
      expect(await request()).toMatchObject({ status: 'rejected' });
    },
  );

  it('takes no reply to a question that it never asked', async () => {
    const { botToken, messageId, reject, card, request } = await ask('called__pay', '己公司');
    const before = rig.messagesOf(botToken).length;
    await rig.tap(botToken, WANG_FANG, messageId, reject);
    const prompt = await until(() => rig.messagesOf(botToken)[before]);
    const taken = rig.webhookAnswers.length;
    const forged = { ...prompt, text: prompt.text.replace('.1002.', '.1001.') };
    expect(forged.text).not.toBe(prompt.text);
    await rig.replyTo(botToken, LI_WEI, forged, 'a question put into my mouth');
    await rig.replyTo(botToken, WANG_FANG, prompt, 'a copy of the question, posted by somebody', 4242);
    await rig.replyTo(botToken, WANG_FANG, card() ?? prompt, 'a reply to the card');
    await until(() => rig.webhookAnswers.length === taken + 3);
    expect(await request()).toMatchObject({ status: 'pending' });
  });
});
