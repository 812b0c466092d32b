import type { Channel } from '../channel/channel.ts';
import { ChatPaces } from '../channel/chat-pace.ts';
import { DeliveryWorker } from '../channel/delivery-worker.ts';
import { ReminderWorker } from '../channel/reminder-worker.ts';
import { createCardSource } from '../confirmation/create-card-source.ts';
import { type Freezes, freezeOf } from '../confirmation/freeze.ts';
import { reminderText } from '../confirmation/reminder-text.ts';
import { endUnreached } from '../confirmation/undeliverable.ts';
import { createDeliveryOutbox } from '../db/delivery-outbox-store.ts';
import { createReminderOutbox } from '../db/reminder-store.ts';
import type { ChannelId } from '../ids.ts';
import type { Foundation } from './foundation.ts';
import type { Core } from './start-core.ts';

/** Brings cards and reminders from their outboxes to the chats, and keeps cards true. */
export function startDeliveries(
  { config, logger, clock, metrics, database, mask, started }: Foundation,
  parts: Pick<Core, 'ledger' | 'reach' | 'confirmations'> & {
    readonly freezes: Freezes;
    readonly channels: ReadonlyMap<ChannelId, Channel>;
    readonly publicUrl: string;
  },
): void {
  const { ledger, reach, confirmations, freezes, channels, publicUrl } = parts;
  const paces = new ChatPaces(clock);
  const worker = new DeliveryWorker({
    outbox: createDeliveryOutbox(database),
    cards: createCardSource({ confirmations, freezes, timeZone: config.timeZone, publicUrl, mask }),
    channels: [...channels.values()],
    paces,
    wakeUps: {
      onDelivery: (run) => database.notifier.subscribe('confirmation', run),
      onReconnect: (run) => database.notifier.onReconnect(run),
    },
    endUnreached: (found) => endUnreached(found, { ledger, reach }),
    metrics: metrics.deliveries,
    clock,
    logger,
  });
  const reminders = new ReminderWorker({
    outbox: createReminderOutbox(database),
    channels: [...channels.values()],
    paces,
    async textOf({ confirmationId, kind, locale }) {
      const request = await confirmations.get(confirmationId);
      if (request === null) return null;
      const freeze = freezeOf(request, await freezes.active());
      return reminderText({ request, freeze, kind, locale, timeZone: config.timeZone, publicUrl, mask });
    },
    clock,
    logger,
  });
  for (const part of [worker, reminders]) {
    part.start();
    started.push(part);
  }
}
