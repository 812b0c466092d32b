import { and, eq, sql } from 'drizzle-orm';
import type { DirectRecipient } from '../channel/channel.ts';
import type { DueDelivery } from '../channel/delivery-outbox.ts';
import { deliveries } from './schema/deliveries.ts';

/** True for the row while the caller's lease is the newest one. Text, because a JavaScript date would lose microseconds. */
export const holdsLease = (due: Pick<DueDelivery, 'id' | 'lease'>) =>
  and(eq(deliveries.id, due.id), sql`${deliveries.leaseUntil}::text = ${due.lease}`);

/** What `directOf` reads. */
export const DIRECT_COLUMNS = { personIds: deliveries.personIds, chat: deliveries.chat };

/** Whom a card is written to directly; null where it goes to the channel's chat. */
export const directOf = (row: {
  readonly personIds: Readonly<Record<string, string>> | null;
  readonly chat: string;
}): DirectRecipient | null =>
  row.personIds === null ? null : { ids: row.personIds, chat: row.chat === '' ? null : row.chat };
