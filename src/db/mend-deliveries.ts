import { sql } from 'drizzle-orm';
import type { DeliveryOutbox } from '../channel/delivery-outbox.ts';
import type { Connection } from './database.ts';

const BATCH = 20;
/** Tries at a card that was given up on, doubling from a minute to a day: about a week and a half. */
const MOST_TRIES = 20;

/**
 * What keeps cards true over days and outages. Any number of processes may run it, any time; it only makes rows due,
 * and every change of a card is idempotent. It locks delivery rows alone.
 */
export async function mendDeliveries(
  connection: Connection,
  { channel, olderThanMs }: Parameters<DeliveryOutbox['mend']>[0],
): Promise<void> {
  await connection.execute(triedAgain(channel));
  if (olderThanMs !== null) await connection.execute(madeToMove(channel, olderThanMs));
}

/**
 * After an outage: every card that still has to change one day is written once more. That costs what looking at it would,
 * and finds those that were deleted meanwhile.
 */
export async function rewriteDeliveries(connection: Connection, channel: string): Promise<void> {
  await connection.execute(sql`
    update deliveries
    set settle_at = clock_timestamp(), next_attempt_at = clock_timestamp()
    where id = any(array(
      select live.id from confirmations join deliveries live on live.confirmation_id = confirmations.id
      where ${STANDS} and live.channel_id = ${channel} and live.state = 'sent' and live.settle_at is null
        and live.shown_version >= live.wanted_version
      order by live.at limit ${MOST_REWRITTEN} for update of live skip locked))`);
}

/** In an outage's wake; what is beyond changes when there is something new. */
const MOST_REWRITTEN = 500;

/** Each arm has a partial index. */
const STANDS = sql`(confirmations.status = 'pending' or confirmations.execution_status in ('unclaimed', 'claimed')
  or confirmations.execution_status = 'unknown')`;

/**
 * Cards of which the channel refused a change, or the sending while people are still asked: mostly a revoked token or a
 * bot that was removed, which is mended one day. Nothing but trying tells that it was: where few cards are sent, none
 * would come along to show it, while buttons stand under a closed request.
 */
const triedAgain = (channel: string) => sql`
  update deliveries
  set next_attempt_at = clock_timestamp(), state = case when state = 'failed' then 'queued' else state end
  where id = any(array(
    select due.id from deliveries due join confirmations on confirmations.id = due.confirmation_id
    where due.channel_id = ${channel} and due.next_attempt_at = 'infinity'
      and due.shown_version < due.wanted_version and due.attempts < ${MOST_TRIES}
      and (due.state = 'sent' or (due.state = 'failed' and confirmations.status = 'pending'))
      and due.at <= clock_timestamp() - least(interval '1 minute' * (2 ^ least(due.attempts, 11)), interval '1 day')
    order by due.at limit ${BATCH} for update of due skip locked))`;

/** Cards that still have to change one day, and that the platform will soon not change any more. */
const madeToMove = (channel: string, olderThanMs: number) => sql`
  update deliveries
  set reissue = true, attempts = 0, next_attempt_at = clock_timestamp()
  where id = any(array(
    select old.id from confirmations join deliveries old on old.confirmation_id = confirmations.id
    where ${STANDS} and old.channel_id = ${channel} and old.state = 'sent' and not old.reissue
      and old.issued_at <= clock_timestamp() - make_interval(secs => ${olderThanMs / 1000}::float8)
    order by old.issued_at limit ${BATCH} for update of old skip locked))`;
