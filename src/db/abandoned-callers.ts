import { type SQL, sql } from 'drizzle-orm';
import type { ConfirmationId } from '../ids.ts';
import type { Connection } from './database.ts';
import { frozenInterval } from './frozen-interval.ts';
import { rowsOf } from './rows-of.ts';
import { STATEMENT_TIME } from './statement-time.ts';

const OUTCOME_WITHIN = frozenInterval(sql`claim.policy -> 'outcomeWithinMs'`);

/**
 * Finds claimed calls of other agents whose caller is over: nobody can bring their outcome any more. There may be as
 * many claimed ones as there are parked callers, so each call of this looks at the next `limit` of them only, and
 * begins again behind the last.
 */
export function createAbandonedCallers(
  connection: Connection,
): (limit: number) => Promise<readonly ConfirmationId[]> {
  let last: { readonly sendBy: string; readonly id: string } | null = null;
  return async (limit) => {
    const behind: SQL =
      last === null ? sql`` : sql`and (send_by, id) > (${last.sendBy}::timestamptz, ${last.id}::uuid)`;
    const looked = await rowsOf<{ id: ConfirmationId; sendBy: string; due: boolean }>(
      connection,
      sql`
      select claim.id, claim.send_by::text as "sendBy",
             claim.send_by + interval '5 seconds' <= clock_timestamp()
               and claim.claimed_at + ${OUTCOME_WITHIN} <= clock_timestamp()
               and not exists (select from runs where runs.id = claim.run_id and runs.finished_at is null) as due
      from (
        select id, send_by, claimed_at, policy, run_id from confirmations
        where execution_status = 'claimed' and run_id is not null and tool_timeout_ms is null
          and send_by <= ${STATEMENT_TIME} ${behind}
        order by send_by, id limit ${limit}
      ) as claim
      order by claim.send_by, claim.id`,
    );
    last = looked.length < limit ? null : (looked.at(-1) ?? null);
    return looked.filter(({ due }) => due).map(({ id }) => id);
  };
}
