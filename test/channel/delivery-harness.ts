import { type Logger, pino } from 'pino';
import type { DeliveryOutbox } from '../../src/channel/delivery-outbox.ts';
import { DeliveryWorker } from '../../src/channel/delivery-worker.ts';
import { type Clock, systemClock } from '../../src/clock.ts';
import { createCardSource } from '../../src/confirmation/create-card-source.ts';
import { endUnreached } from '../../src/confirmation/undeliverable.ts';
import type { Database } from '../../src/db/database.ts';
import { createDeliveryOutbox } from '../../src/db/delivery-outbox-store.ts';
import { FreezeStore } from '../../src/db/freeze-store.ts';
import { channelId } from '../../src/ids.ts';
import type { Core } from '../support/core.ts';
import { ScriptedChannel } from './scripted-channel.ts';

/** Time-outs, polls and pauses ten times as fast; what the database's clock decides stays as it is. */
export const hurriedClock: Clock = {
  now: systemClock.now,
  monotonic: () => systemClock.monotonic() * 10,
  setTimer: (delayMs, run) => systemClock.setTimer(delayMs / 10, run),
};

export const slackLike = () =>
  new ScriptedChannel(channelId('pay-slack'), { provider: 'slack', app: 'A0', tenant: 'T0', chat: 'C0' });
export const feishuLike = () =>
  new ScriptedChannel(channelId('pay-feishu'), {
    provider: 'feishu',
    app: 'cli_0',
    tenant: 't0',
    chat: 'oc_0',
  });

/** A worker over the real outbox and the real core. */
export function workerOn(
  database: Database,
  core: Core,
  channels: readonly ScriptedChannel[],
  changes: {
    readonly outbox?: DeliveryOutbox;
    readonly clock?: Clock;
    readonly logger?: Logger;
  } = {},
): { readonly worker: DeliveryWorker; readonly counted: string[] } {
  const counted: string[] = [];
  const { notifier } = database;
  const worker = new DeliveryWorker({
    outbox: createDeliveryOutbox(database),
    cards: createCardSource({
      confirmations: core.service,
      freezes: new FreezeStore(database),
      timeZone: 'Asia/Shanghai',
      publicUrl: 'https://gate.acme.example',
    }),
    channels,
    wakeUps: {
      onDelivery: (run) => notifier.subscribe('confirmation', run),
      onReconnect: (run) => notifier.onReconnect(run),
    },
    endUnreached: (found) => endUnreached(found, core),
    metrics: { delivered: ({ channel, result }) => counted.push(`${channel} ${result}`) },
    clock: hurriedClock,
    logger: pino({ level: 'silent' }),
    // The shortest delay that the back-off allows.
    random: () => 0.999,
    ...changes,
  });
  return { worker, counted };
}
