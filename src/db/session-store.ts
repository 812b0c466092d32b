import { and, eq, isNull, sql } from 'drizzle-orm';
import type { SessionKey, SessionStore } from '../agent/run-store.ts';
import type { RunId } from '../ids.ts';
import type { Database } from './database.ts';
import { sessions } from './schema/runs.ts';
import { storableJson, storableText } from './storable-json.ts';

/** Sessions and what their start gave, on both databases. Of any number of callers, one is told to ask the hooks. */
export function createSessionStore({ connection }: Pick<Database, 'connection'>): SessionStore {
  return {
    async open({ run, askWithinMs, ...key }) {
      const askingUntil = sql`clock_timestamp() + ${askWithinMs} * interval '1 millisecond'`;
      // A row without context whose time is over belonged to a run that died while it asked.
      const asked = await connection
        .insert(sessions)
        .values({ ...columnsOf(key), askedByRun: run, askingUntil })
        .onConflictDoUpdate({
          target: [sessions.agent, sessions.session, sessions.person],
          set: { askedByRun: run, askingUntil },
          setWhere: sql`${sessions.context} is null
            and (${sessions.askingUntil} < clock_timestamp() or ${sessions.askedByRun} = ${run})`,
        })
        .returning({ session: sessions.session });
      if (asked.length > 0) return { kind: 'asked' };
      const [row] = await connection.select({ context: sessions.context }).from(sessions).where(isOf(key));
      return row?.context ? { kind: 'known', context: row.context } : { kind: 'being-asked' };
    },

    async abandon({ run, ...key }) {
      await connection.delete(sessions).where(asking(key, run));
    },

    async keep({ run, context, ...key }) {
      await connection
        .update(sessions)
        .set({ context: storableJson([...context]) })
        .where(asking(key, run));
    },
  };
}

const columnsOf = ({ agent, session, person }: SessionKey) => ({
  agent,
  session: storableText(session),
  person: person ?? ('' as const),
});

function isOf(key: SessionKey) {
  const { agent, session, person } = columnsOf(key);
  return and(eq(sessions.agent, agent), eq(sessions.session, session), eq(sessions.person, person));
}

const asking = (key: SessionKey, run: RunId) =>
  and(isOf(key), eq(sessions.askedByRun, run), isNull(sessions.context));
