import { and, eq, sql } from 'drizzle-orm';
import { v7 as uuidv7 } from 'uuid';
import { storableText } from '../audit/storable-data.ts';
import type { DueReminder, ReminderKind, ReminderOutbox } from '../channel/reminder-outbox.ts';
import type { ConfirmationId } from '../ids.ts';
import type { Connection, Database } from './database.ts';
import { DIRECT_COLUMNS, directOf } from './delivery-lease.ts';
import { confirmations, votes } from './schema/confirmations.ts';
import { deliveries } from './schema/deliveries.ts';
import { reminders } from './schema/reminders.ts';

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
  const shown = await connection
    .select({ id: deliveries.id })
    .from(deliveries)
    .where(
      and(
        eq(deliveries.confirmationId, confirmationId),
        sql`cardinality(${deliveries.messageIds}) > 0`,
        OF_OPEN_REQUESTS.has(kind) ? notVotedYet(confirmationId) : undefined,
      ),
    );
  if (shown.length === 0) return;
  const ids = shown.map(() => uuidv7());
  const deliveryIds = shown.map(({ id }) => id);
  await connection.execute(sql`
    insert into reminders (id, delivery_id, kind, next_attempt_at, at)
    select note.id, note.delivery_id, ${kind}::text, ${CLOCK}, ${CLOCK}
    from unnest(${sql.param(ids)}::uuid[], ${sql.param(deliveryIds)}::uuid[]) as note (id, delivery_id)
    on conflict do nothing`);
}

const OF_OPEN_REQUESTS: ReadonlySet<ReminderKind> = new Set(['reminder', 'escalation']);

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

async function claim(
  connection: Connection,
  { channel, limit }: Parameters<ReminderOutbox['claim']>[0],
): Promise<readonly DueReminder[]> {
  const due = connection
    .select({ id: reminders.id })
    .from(reminders)
    .innerJoin(deliveries, eq(deliveries.id, reminders.deliveryId))
    .innerJoin(confirmations, eq(confirmations.id, deliveries.confirmationId))
    .where(
      and(
        eq(reminders.state, 'queued'),
        eq(deliveries.channelId, channel),
        sql`case when ${reminders.kind} in ('unknown', 'failed') then ${confirmations.executionStatus} = ${reminders.kind}
          else ${confirmations.status} = 'pending' end`,
        // None while a card moves.
        sql`cardinality(${deliveries.messageIds}) > 0`,
        sql`${reminders.nextAttemptAt} <= ${CLOCK}`,
      ),
    )
    .limit(limit)
    .for('update', { of: reminders, skipLocked: true });
  const claimed = await connection
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
  return claimed.map(({ personIds, chat, ...note }) => ({ ...note, direct: directOf({ personIds, chat }) }));
}
