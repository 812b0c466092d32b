import { pino } from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { telegramChannelKind } from '../../../channels/telegram/index.ts';
import type { Channel } from '../../../src/channel/channel.ts';
import type { InboundEvent } from '../../../src/channel/inbound-event.ts';
import { type Clock, systemClock } from '../../../src/clock.ts';
import { channelId } from '../../../src/ids.ts';
import { until } from '../../support/until.ts';
import { startTelegramRig, type TelegramRig } from './telegram-rig.ts';

const BOT = '777:AApolling';
const DATA = 'a.AbCdEfGhIjKlMnOpQrStUv.1';
const LI_WEI = { user: 1001 };

let rig: TelegramRig;
let channel: Channel;
const events: InboundEvent[] = [];
/** The waits between attempts, ten times as short. */
const hastyClock: Clock = {
  ...systemClock,
  setTimer: (delayMs, run) => systemClock.setTimer(delayMs / 10, run),
};

beforeAll(async () => {
  rig = await startTelegramRig({ chat: -100123 });
  channel = telegramChannelKind.create({
    id: channelId('pay-telegram'),
    settings: telegramChannelKind.settings.parse({
      ...{ apiUrl: rig.url, botToken: BOT, chat: '-100123', mode: 'polling' },
    }),
    locale: 'en-US',
    clock: hastyClock,
    logger: pino({ level: 'silent' }),
  });
  rig.fail('getUpdates', 409, "Conflict: can't use getUpdates method while webhook is active");
  await channel.start();
  channel.connection?.open({
    async handle(event) {
      events.push(event);
      return { answer: { status: 200, contentType: 'text/plain', body: '' } };
    },
    async refuse() {},
  });
});
afterAll(async () => {
  await channel.stop();
  await rig.stop();
});

it('is not ready while it is refused, says why, and is once it is let in', async () => {
  await until(() => channel.connection?.status().detail.includes('409'));
  expect(channel.health().ready).toBe(false);
  await until(() => channel.health().ready);
  expect(channel.connection?.status()).toMatchObject({ wanted: 1, open: 1, reconnects: 0 });
});

it('loses no tap that is made while another process asks', async () => {
  const { reconnects = 0 } = channel.connection?.status() ?? {};
  const before = events.length;
  rig.fail('getUpdates', 409, 'Conflict: terminated by other getUpdates request');
  await until(() => channel.connection?.status().open === 0);
  await rig.tap(BOT, LI_WEI, 12, DATA);
  expect(await until(() => events[before])).toMatchObject({ type: 'tap', actor: { ids: { user: '1001' } } });
  await until(() => (channel.connection?.status().reconnects ?? 0) > reconnects);
}, 20_000);

it('asks from the update after the last that was handled', async () => {
  const before = events.length;
  await rig.tap(BOT, LI_WEI, 12, DATA);
  await until(() => events[before]);
  const asked = rig.callsOf('getUpdates').length;
  const next = await until(() => rig.callsOf('getUpdates')[asked]);
  expect(next.args).toMatchObject({ timeout: 25, allowed_updates: ['callback_query', 'message'] });
  expect(Number(next.args.offset)).toBeGreaterThan(1);
});
