import { and, desc, eq, isNotNull, isNull, type SQL, sql } from 'drizzle-orm';
import { alias } from 'drizzle-orm/pg-core';
import type { NewConfirmation } from '../confirmation/ledger.ts';
import type { Connection } from './database.ts';
import { confirmations } from './schema/confirmations.ts';

const earlier = alias(confirmations, 'earlier');

/**
 * The rejection that a new request follows, as `followedRejection` reads it: a part of the statement that inserts the
 * request, one look into a partial index. Null where its call belongs to no run and no session.
 */
export function followedBy(
  connection: Connection,
  request: Pick<NewConfirmation, 'runId' | 'agent' | 'session' | 'tool' | 'argsDigest' | 'policy'>,
): SQL | null {
  const sameWork = sameWorkAs(request);
  if (sameWork === null) return null;
  const found = connection
    .select({
      follows: sql`jsonb_build_object(
        'id', ${earlier.id},
        'at', to_char(${earlier.decidedAt} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
        'by', jsonb_build_object('id', ${earlier.decidedById}, 'name', coalesce(${earlier.decidedByName}, ${earlier.decidedById})),
        'reason', ${earlier.decisionReason},
        'sameArguments', ${earlier.argsDigest} = ${request.argsDigest},
        'samePolicy', ${earlier.policy} ->> 'id' = ${request.policy.id})`.as('follows'),
    })
    .from(earlier)
    // The status is written out: a plan that is kept finds the partial index by it.
    .where(and(sql`${earlier.status} = 'rejected'`, isNotNull(earlier.decidedById), sameWork))
    .orderBy(desc(earlier.decidedAt))
    .limit(1);
  return sql`(${found})`;
}

/** An outside agent's session is the agent's own word; that of our runs is not asked, for their id says more. */
function sameWorkAs({
  runId,
  agent,
  session,
  tool,
}: Pick<NewConfirmation, 'runId' | 'agent' | 'session' | 'tool'>): SQL | undefined | null {
  const sameTool = eq(earlier.tool, tool);
  if (runId !== null) return and(eq(earlier.runId, runId), sameTool);
  if (session === null) return null;
  return and(isNull(earlier.runId), eq(earlier.agent, agent), eq(earlier.session, session), sameTool);
}
