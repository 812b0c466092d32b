import { and, eq, inArray, or, sql } from 'drizzle-orm';
import type { ChannelId } from '../ids.ts';
import type { Connection } from './database.ts';
import { deliveries } from './schema/deliveries.ts';
import { STATEMENT_TIME } from './statement-time.ts';

const CLOCK = sql`clock_timestamp()`;

export const IS_DUE = sql`${deliveries.nextAttemptAt} <= ${STATEMENT_TIME}`;
/** A card that is to be sent, or may have to be. */
export const IS_SEND = inArray(deliveries.state, ['queued', 'uncertain']);
/** A card in a chat that is to be written anew. */
export const IS_CHANGE = and(
  eq(deliveries.state, 'sent'),
  sql`(${deliveries.shownVersion} < ${deliveries.wantedVersion} or ${deliveries.reissue}
       or ${deliveries.settleAt} <= ${CLOCK})`,
);

/** True while a channel has cards to send or to change, those among them that somebody is at work on. */
export const hasDueCards = (connection: Connection, channel: ChannelId) =>
  sql`exists (${connection
    .select({ one: sql`1` })
    .from(deliveries)
    .where(and(eq(deliveries.channelId, channel), IS_DUE, or(IS_SEND, IS_CHANGE)))})`;
