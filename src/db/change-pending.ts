import { type SQL, sql } from 'drizzle-orm';
import { v7 as uuidv7 } from 'uuid';
import type { NewDecision, NewVote } from '../confirmation/ledger.ts';
import { CLOCK_TEXT } from './audit-store.ts';
import type { ConfirmationRow, VoteRow } from './confirmation-row.ts';
import type { Connection } from './database.ts';
import { CARDS_FOLLOW } from './delivery-store.ts';
import { changedRow, type HeldRequest, NOW, policyInterval, STAMP } from './held-request.ts';
import { rowsOf } from './rows-of.ts';
import { storableText } from './storable-json.ts';

/** What happens to a pending request: a vote, the decision that closes it, or both. */
export interface PendingChange {
  readonly held: HeldRequest;
  readonly vote: NewVote | null;
  readonly decision: NewDecision | null;
}

/** The columns that the statement may change. What a decision fills is empty before it. */
const CHANGED: readonly (keyof ConfirmationRow)[] = [
  'version',
  'status',
  'decidedAt',
  'decidedById',
  'decidedByName',
  'decisionReason',
  'decisionCode',
  'supersededBy',
  'executionStatus',
  'executableFrom',
  'executeBy',
  'coolingOff',
];

/**
 * Casts votes and makes decisions on pending requests that this transaction holds, each on another request, with the
 * wishes for new cards: one statement and one reading of the clock, whatever their number. Each is made where its
 * request is pending and the clock allows it (to expire at or after the deadline, everything else only before), and
 * nothing of it where not; what was compared with the deadline is what is written down as the time. Gives back the
 * changed ones by id.
 */
export async function changePending(
  connection: Connection,
  changes: readonly PendingChange[],
): Promise<ReadonlyMap<string, HeldRequest>> {
  const wanted = JSON.stringify(changes.map(wantedOf));
  const ids = changes.map(({ held }) => held.row.id);
  const rows = await rowsOf<ChangedRow>(
    connection,
    sql`${BEFORE}${wanted}${BETWEEN}${sql.param(ids)}${AFTER}`,
  );
  const byId = new Map(rows.map((row) => [row.id, row]));
  return new Map(
    changes.flatMap(({ held, vote }): [string, HeldRequest][] => {
      const changed = byId.get(held.row.id);
      if (changed === undefined) return [];
      const after = {
        row: changedRow(held.row, CHANGED, changed),
        votes: vote === null ? held.votes : [...held.votes, voteRow(vote, new Date(changed.voted_at))],
        chain: held.chain && { ...held.chain, at: changed.clock_text },
      };
      return [[held.row.id, after]];
    }),
  );
}

interface ChangedRow extends Record<string, unknown> {
  readonly id: string;
  readonly voted_at: string;
  readonly clock_text: string;
}

const COOL_OFF = policyInterval('coolOffMs');
const APPROVED = sql.raw(`wanted.status = 'approved'`);
const CLOSED = sql.raw('wanted.status is not null');

/**
 * The statement around its two parameters: the same text for any number of changes, so it stays prepared. That the ids
 * are given once more, as an array, lets the plan find the rows by their key, which it does not do for a join alone.
 */
const BEFORE: SQL = sql`
  with clock as materialized (select clock_timestamp() as now),
  wanted as materialized (select * from jsonb_to_recordset(`;
const BETWEEN: SQL = sql`::text::jsonb) as wanted (
    id uuid, status text, decided_by_id text, decided_by_name text, decision_reason text, decision_code text,
    superseded_by uuid, vote_id uuid, person_id text, person_name text, seat_id text, seat_name text, verdict text,
    reason text, channel text, args_digest text, seen_delivery_id uuid, seen_version integer, seen_digest text,
    seen_locale text, seen_at timestamptz)),
  changed as (
    update confirmations set
      version = version + 1,
      status = coalesce(wanted.status, confirmations.status),
      decided_at = case when ${CLOSED} then ${STAMP} end,
      decided_by_id = wanted.decided_by_id,
      decided_by_name = wanted.decided_by_name,
      decision_reason = wanted.decision_reason,
      decision_code = wanted.decision_code,
      superseded_by = wanted.superseded_by,
      execution_status = case when ${APPROVED} then 'unclaimed' else 'none' end,
      executable_from = case when ${APPROVED} then ${STAMP} + ${COOL_OFF} end,
      execute_by = case when ${APPROVED} then ${STAMP} + ${COOL_OFF} + ${policyInterval('executeWithinMs')} end,
      cooling_off = coalesce(${APPROVED}, false) and ${COOL_OFF} > interval '0'
    from wanted, clock
    where confirmations.id = any(`;
const AFTER: SQL = sql`::uuid[]) and confirmations.id = wanted.id and confirmations.status = 'pending'
      and case when wanted.status = 'expired'
            then ${NOW} >= confirmations.decide_by else ${NOW} < confirmations.decide_by end
    returning confirmations.*, ${STAMP} as voted_at, ${CLOCK_TEXT(NOW)} as clock_text
  ),
  cast_votes as (
    insert into votes (id, confirmation_id, person_id, person_name, seat_id, seat_name, verdict, reason, channel,
                       args_digest, seen_delivery_id, seen_version, seen_digest, seen_locale, seen_at, at)
    select vote_id, changed.id, person_id, person_name, seat_id, seat_name, verdict, reason, channel,
           wanted.args_digest, seen_delivery_id, seen_version, seen_digest, seen_locale, seen_at, voted_at
    from changed join wanted on wanted.id = changed.id and vote_id is not null
  ),
  cards as (${CARDS_FOLLOW})
  select id, version, status, decided_at, decided_by_id, decided_by_name, decision_reason, decision_code,
         superseded_by, execution_status, executable_from, execute_by, cooling_off, voted_at, clock_text
  from changed`;

const wantedOf = ({ held, vote, decision }: PendingChange) => ({
  id: held.row.id,
  ...(decision !== null && {
    status: decision.status,
    decided_by_id: decision.by?.id,
    decided_by_name: decision.by?.name,
    decision_reason: storableOrNull(decision.reason),
    decision_code: decision.code,
    superseded_by: decision.supersededBy,
  }),
  ...(vote !== null && {
    vote_id: uuidv7(),
    person_id: vote.person.id,
    person_name: vote.person.name,
    seat_id: vote.seat.id,
    seat_name: vote.seat.name,
    verdict: vote.verdict,
    reason: storableOrNull(vote.reason),
    channel: vote.channel,
    args_digest: vote.argsDigest,
    seen_delivery_id: vote.seen?.delivery,
    seen_version: vote.seen?.version,
    seen_digest: vote.seen?.digest,
    seen_locale: vote.seen?.locale,
    seen_at: vote.seen?.at,
  }),
});

const storableOrNull = (text: string | null): string | null => (text === null ? null : storableText(text));

const voteRow = (vote: NewVote, at: Date): VoteRow => ({
  personId: vote.person.id,
  personName: vote.person.name,
  seatId: vote.seat.id,
  seatName: vote.seat.name,
  verdict: vote.verdict,
  reason: vote.reason === null ? null : storableText(vote.reason),
  channel: vote.channel,
  at,
  seenDelivery: vote.seen?.delivery ?? null,
  seenVersion: vote.seen?.version ?? null,
  seenDigest: vote.seen?.digest ?? null,
  seenLocale: vote.seen?.locale ?? null,
  seenAt: vote.seen?.at ?? null,
});
