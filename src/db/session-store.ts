import { and, eq, isNull, sql } from 'drizzle-orm';
import type { SessionStore } from '../agent/run-store.ts';
import type { AgentId, RunId } from '../ids.ts';
import type { Database } from './database.ts';
import { sessions } from './schema/runs.ts';
import { storableJson, storableText } from './storable-json.ts';

/** Sessions and what their start gave, on both databases. Of any number of callers, one is told to ask the hooks. */
export function createSessionStore({ connection }: Pick<Database, 'connection'>): SessionStore {
  return {
    async open({ agent, session, run, askWithinMs }) {
      const name = storableText(session);
      const askingUntil = sql`clock_timestamp() + ${askWithinMs} * interval '1 millisecond'`;
      // A row without context whose time is over belonged to a run that died while it asked.
      const asked = await connection
        .insert(sessions)
        .values({ agent, session: name, askedByRun: run, askingUntil })
        .onConflictDoUpdate({
          target: [sessions.agent, sessions.session],
          set: { askedByRun: run, askingUntil },
          setWhere: sql`${sessions.context} is null
            and (${sessions.askingUntil} < clock_timestamp() or ${sessions.askedByRun} = ${run})`,
        })
        .returning({ session: sessions.session });
      if (asked.length > 0) return { kind: 'asked' };
      const [row] = await connection
        .select({ context: sessions.context })
        .from(sessions)
        .where(and(eq(sessions.agent, agent), eq(sessions.session, name)));
      return row?.context ? { kind: 'known', context: row.context } : { kind: 'being-asked' };
    },

    async abandon({ agent, session, run }) {
      await connection.delete(sessions).where(asking(agent, session, run));
    },

    async keep({ agent, session, run, context }) {
      await connection
        .update(sessions)
        .set({ context: storableJson([...context]) })
        .where(asking(agent, session, run));
    },
  };
}

const asking = (agent: AgentId, session: string, run: RunId) =>
  and(
    eq(sessions.agent, agent),
    eq(sessions.session, storableText(session)),
    eq(sessions.askedByRun, run),
    isNull(sessions.context),
  );
