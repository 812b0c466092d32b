import { and, eq, sql } from 'drizzle-orm';
import type { DueDelivery } from '../channel/delivery-outbox.ts';
import { deliveries } from './schema/deliveries.ts';

/** True for the row while the caller's lease is the newest one. Text, because a JavaScript date would lose microseconds. */
export const holdsLease = (due: Pick<DueDelivery, 'id' | 'lease'>) =>
  and(eq(deliveries.id, due.id), sql`${deliveries.leaseUntil}::text = ${due.lease}`);
