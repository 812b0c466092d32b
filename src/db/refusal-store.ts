import { sql } from 'drizzle-orm';
import { storableText } from '../audit/storable-data.ts';
import type { RefusalRecorder } from '../confirmation/refused-attempt.ts';
import { appendAuditEvents } from './audit-store.ts';
import type { Database } from './database.ts';
import { refusedAttempts } from './schema/audit.ts';

/** In UTF-16 units. What identifies somebody is far shorter; longer ids of somebody unknown count as one. */
const LONGEST_PART = 300;

/**
 * Keeps refused attempts by their key, each with its event in one transaction. A repeated one writes nothing and locks
 * nothing, the chain of the request least of all; two at the same instant wait for each other at the key alone.
 */
export function createRefusalStore(database: Database): RefusalRecorder {
  return {
    async record({ event, act, code, who, surface, place = '' }) {
      const isNew = await database.transaction(async (connection) => {
        const added = await connection
          .insert(refusedAttempts)
          .values({
            subject: event.confirmation ?? THIS_HOUR,
            who: storableText(who, LONGEST_PART),
            act,
            code: storableText(code, LONGEST_PART),
            surface: storableText(surface, LONGEST_PART),
            place: storableText(place, LONGEST_PART),
          })
          .onConflictDoNothing()
          .returning({ code: refusedAttempts.code });
        if (added.length > 0) await appendAuditEvents(connection, [event]);
        return added.length > 0;
      });
      // A lost wake-up only delays the event's number, until the sequencer's next poll.
      if (isNew) await database.notifier.notify('audit', event.confirmation ?? 'system').catch(() => {});
    },
  };
}

const THIS_HOUR = sql<string>`to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24"Z"')`;
