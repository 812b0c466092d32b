import { and, eq, inArray, not, or, sql } from 'drizzle-orm';
import { storableText } from '../audit/storable-data.ts';
import {
  type DueReminder,
  QUIET_KINDS,
  type ReminderKind,
  type ReminderOutbox,
} from '../channel/reminder-outbox.ts';
import type { ConfirmationId } from '../ids.ts';
import type { ConfirmationRow } from './confirmation-row.ts';
import type { Connection, Database } from './database.ts';
import { DIRECT_COLUMNS, directOf } from './delivery-lease.ts';
import { hasDueCards } from './due-cards.ts';
import { confirmations, votes } from './schema/confirmations.ts';
import { deliveries } from './schema/deliveries.ts';
import { reminders } from './schema/reminders.ts';
import { STATEMENT_TIME } from './statement-time.ts';

const CLOCK = sql`clock_timestamp()`;
const LONGEST_ERROR = 500;

/**
 * Queues a note for each card that stands in a chat; one that is still to be sent needs none. Nobody who has voted is
 * reminded of it in a direct message.
 */
export async function insertReminders(
  connection: Connection,
  { confirmationId, kind }: { readonly confirmationId: ConfirmationId; readonly kind: ReminderKind },
): Promise<void> {
  const ofOpenRequest = kind === 'reminder' || kind === 'escalation';
  await connection.execute(sql`
    insert into reminders (id, delivery_id, kind, next_attempt_at, at)
    select gen_random_uuid(), ${deliveries.id}, ${kind}::text, ${CLOCK}, ${CLOCK} from ${deliveries}
    where ${deliveries.confirmationId} = ${confirmationId} and cardinality(${deliveries.messageIds}) > 0
      and (${!ofOpenRequest} or ${notVotedYet(confirmationId)})
    on conflict do nothing`);
}

/**
 * Queues what the row's new state has to say under its cards, where it is one of those that are said: a changed card
 * makes no sound.
 */
export async function insertResultNotes(
  connection: Connection,
  { id, executionStatus, settleOpen }: ConfirmationRow,
): Promise<void> {
  const confirmationId = id as ConfirmationId;
  switch (executionStatus) {
    case 'unknown':
      if (settleOpen) await insertReminders(connection, { confirmationId, kind: 'unknown' });
      return;
    case 'succeeded':
    case 'failed':
    case 'lapsed':
    case 'revoked':
      return insertReminders(connection, { confirmationId, kind: executionStatus });
    default:
  }
}

const notVotedYet = (confirmationId: ConfirmationId) =>
  sql`not exists (select 1 from ${votes}
    where ${votes.confirmationId} = ${confirmationId} and ${votes.personId} = ${deliveries.personId})`;

export const createReminderOutbox = ({ connection }: Pick<Database, 'connection'>): ReminderOutbox => ({
  claim: (input) => claim(connection, input),
  async record({ id, result }) {
    await connection
      .update(reminders)
      .set({
        state: result.kind === 'retry' ? 'queued' : result.kind,
        error: 'error' in result ? storableText(result.error, LONGEST_ERROR) : null,
        attempts: sql`${reminders.attempts} + 1`,
        nextAttemptAt:
          result.kind === 'retry'
            ? sql`${CLOCK} + make_interval(secs => ${result.retryInMs / 1000}::float8)`
            : CLOCK,
        at: CLOCK,
      })
      .where(and(eq(reminders.id, id), eq(reminders.state, 'sending')));
  },
});

const IS_QUIET = inArray(reminders.kind, [...QUIET_KINDS]);
/** Or will not, as far as anybody knows: then the note is all there is. */
const SHOWS_THE_NEWEST = sql`(${deliveries.shownVersion} >= ${deliveries.wantedVersion}
  or ${deliveries.nextAttemptAt} = 'infinity')`;

/** Not a join: the planner may read every request for one, also where no note is queued. */
const STILL_TRUE = sql`(
  select case when ${reminders.kind} in ('reminder', 'escalation') then ${confirmations.status} = 'pending'
    else ${confirmations.executionStatus} = ${reminders.kind} end
  from ${confirmations} where ${confirmations.id} = ${deliveries.confirmationId})`;

async function claim(
  connection: Connection,
  { channel }: Parameters<ReminderOutbox['claim']>[0],
): Promise<DueReminder | null> {
  const due = connection
    .select({ id: reminders.id })
    .from(reminders)
    .innerJoin(deliveries, eq(deliveries.id, reminders.deliveryId))
    .where(
      and(
        eq(reminders.state, 'queued'),
        eq(deliveries.channelId, channel),
        STILL_TRUE,
        or(not(IS_QUIET), and(SHOWS_THE_NEWEST, not(hasDueCards(connection, channel)))),
        // None while a card moves.
        sql`cardinality(${deliveries.messageIds}) > 0`,
        sql`${reminders.nextAttemptAt} <= ${STATEMENT_TIME}`,
      ),
    )
    .orderBy(IS_QUIET, reminders.nextAttemptAt)
    .limit(1)
    .for('update', { of: reminders, skipLocked: true });
  const [claimed] = await connection
    .update(reminders)
    .set({ state: 'sending', at: CLOCK })
    .from(deliveries)
    .where(and(eq(deliveries.id, reminders.deliveryId), sql`${reminders.id} = any(array(${due}))`))
    .returning({
      id: reminders.id,
      confirmationId: deliveries.confirmationId,
      kind: reminders.kind,
      messageId: sql<string>`${deliveries.messageIds}[1]`,
      failedAttempts: reminders.attempts,
      ...DIRECT_COLUMNS,
    });
  if (claimed === undefined) return null;
  const { personIds, chat, ...note } = claimed;
  return { ...note, direct: directOf({ personIds, chat }) };
}
