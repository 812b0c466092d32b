import { type SQL, sql } from 'drizzle-orm';
import type { NewConfirmation } from '../confirmation/ledger.ts';

/**
 * The rejection that a new request follows, as `followedRejection` reads it: a part of the statement that inserts the
 * request, one look into a partial index. Null where its call belongs to no run and no session.
 */
export function followedBy(
  request: Pick<NewConfirmation, 'runId' | 'agent' | 'session' | 'tool' | 'argsDigest' | 'policy'>,
): SQL | null {
  const sameWork = sameWorkAs(request);
  if (sameWork === null) return null;
  // The status is written out: a plan that is kept finds the index by it.
  return sql`(
    select jsonb_build_object(
      'id', earlier.id,
      'at', to_char(earlier.decided_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
      'by', jsonb_build_object('id', earlier.decided_by_id, 'name', coalesce(earlier.decided_by_name, earlier.decided_by_id)),
      'reason', earlier.decision_reason,
      'sameArguments', earlier.args_digest = ${request.argsDigest},
      'samePolicy', earlier.policy ->> 'id' = ${request.policy.id})
    from confirmations as earlier
    where earlier.status = 'rejected' and earlier.decided_by_id is not null
      and ${sameWork} and earlier.tool = ${request.tool}
    order by earlier.decided_at desc
    limit 1)`;
}

/** An outside agent's session is the agent's own word; that of our runs is not asked, for their id says more. */
function sameWorkAs({
  runId,
  agent,
  session,
}: Pick<NewConfirmation, 'runId' | 'agent' | 'session'>): SQL | null {
  if (runId !== null) return sql`earlier.run_id = ${runId}`;
  if (session === null) return null;
  return sql`earlier.run_id is null and earlier.agent = ${agent} and earlier.session = ${session}`;
}
