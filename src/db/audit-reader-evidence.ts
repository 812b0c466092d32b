import { type SQL, sql } from 'drizzle-orm';
import type { AuditFault } from '../audit/audit-reader.ts';
import type { AuditEvidence } from '../audit/verify.ts';
import type { ChainedEvent } from '../audit/verify-chains.ts';
import type { ConfirmationEvidence } from '../audit/verify-confirmations.ts';
import type { LogPage, StoredAuditEvent } from '../audit/verify-log.ts';
import type { Database } from './database.ts';
import { rowsOf } from './rows-of.ts';

/** Rows a statement: what bounds the memory of a verification, whatever the length of the log. */
const PAGE_SIZE = 500;
const SMALLEST_BIGINT = '-9223372036854775808';
const SMALLEST_UUID = '00000000-0000-0000-0000-000000000000';

/**
 * Reads the record for verification. No transaction spans the pages: each is one statement and so one snapshot, and
 * what may be appended between two of them is what `AuditEvidence` allows. Columns are read as text where a driver
 * would round or reformat them.
 */
export function readAuditEvidence(database: Database, pageSize: number = PAGE_SIZE): AuditEvidence {
  const read = <Row>(statement: SQL) => rowsOf<Row>(database.connection, statement);

  async function* unsequenced(): AsyncGenerator<StoredAuditEvent> {
    let after = SMALLEST_UUID;
    for (;;) {
      const rows = await read<EventRow>(sql`
        select ${EVENT_COLUMNS} from audit_events event
        where seq is null and id > ${after} order by id limit ${pageSize}`);
      for (const row of rows) yield storedEventOf(row);
      after = rows.at(-1)?.id ?? after;
      if (rows.length < pageSize) return;
    }
  }

  async function* log(): AsyncGenerator<LogPage> {
    let after = SMALLEST_BIGINT;
    for (;;) {
      const rows = await read<EventRow & { head_seq: string | null; head_hash: string | null }>(sql`
        select head.seq::text as head_seq, head.hash as head_hash, page.*
        from (values (1)) as always
        left join audit_head head on true
        left join lateral (
          select ${EVENT_COLUMNS} from audit_events event
          where seq > ${after}::bigint order by event.seq limit ${pageSize}
        ) page on true
        order by page.seq_number`);
      const [first] = rows;
      const head =
        first && first.head_seq !== null && first.head_hash !== null
          ? { seq: Number(first.head_seq), hash: first.head_hash }
          : null;
      const events = rows.filter((row) => row.id !== null).map(storedEventOf);
      yield { events, head };
      after = rows.at(-1)?.seq ?? after;
      if (events.length < pageSize) return;
    }
  }

  async function* chains(): AsyncGenerator<ChainedEvent> {
    let after = { chain: '', requestSeq: Number.MIN_SAFE_INTEGER };
    for (;;) {
      const rows = await read<ChainRow>(sql`
        select event.chain, event.confirmation_id as confirmation, event.seq::text as seq, event.request_seq,
               event.request_prev, event.request_hash, head.length as head_length, head.head as head_hash
        from audit_events event left join audit_chains head on head.chain = event.chain
        where (event.chain, event.request_seq) > (${after.chain}, ${after.requestSeq}::bigint)
        order by event.chain, event.request_seq, event.seq limit ${pageSize}`);
      for (const row of rows) yield chainedEventOf(row);
      const last = rows.at(-1);
      if (!last || rows.length < pageSize) return;
      after = { chain: last.chain, requestSeq: last.request_seq };
    }
  }

  async function* confirmations(): AsyncGenerator<ConfirmationEvidence> {
    let after = SMALLEST_UUID;
    for (;;) {
      const rows = await read<ConfirmationEvidenceRow>(sql`
        select id, status, organization, tool, tool_version, args::text as args_text, args_digest, decision_code,
               decision_reason, decided_by_id, decided_by_name, ${isoText(sql`decided_at`)} as decided_at,
               ${isoText(sql`execute_by`)} as execute_by, claimed_at is not null as claimed,
               (select coalesce(jsonb_agg(jsonb_build_object('seq', event.seq, 'kind', event.kind,
                         'actorName', event.actor_name, 'data', event.data) order by event.seq, event.request_seq), '[]')
                from audit_events event
                where event.confirmation_id = confirmations.id
                  and event.kind in ('confirmation.requested', 'confirmation.decided', 'grant.claimed')) as events
        from confirmations where id > ${after} order by id limit ${pageSize}`);
      for (const row of rows) yield confirmationEvidenceOf(row);
      after = rows.at(-1)?.id ?? after;
      if (rows.length < pageSize) return;
    }
  }

  return { unsequenced, log, chains, confirmations, contradictions: () => read<AuditFault>(CONTRADICTIONS) };
}

/** Times with all their digits; milliseconds as they were written, more only where somebody else wrote them. */
const isoText = (time: SQL): SQL =>
  sql`regexp_replace(to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US'), '000$', '') || 'Z'`;

const EVENT_COLUMNS = sql`event.id, ${isoText(sql`event.at`)} as at, event.kind, event.confirmation_id as confirmation,
  event.run_id as run, event.actor_type, event.actor_id, event.actor_name, event.data::text as data_text, event.chain,
  event.request_seq, event.request_prev, event.request_hash, event.canonical, event.insert_order is not null as queued,
  event.seq::text as seq, event.seq as seq_number, event.prev_hash, event.hash`;

/** Each part is one question to the whole record, of which the first row is enough. */
const CONTRADICTIONS = sql`
  (select null::float8 as seq, nullif(split_part(chain, 'confirmation:', 2), '') as confirmation,
          'All events of ' || chain || ' are missing.' as reason
   from audit_chains where not exists (select from audit_events where audit_events.chain = audit_chains.chain)
   order by chain limit 1)
  union all
  (select null, earlier.confirmation_id::text,
          'Number ' || later.request_seq || ' of ' || later.chain || ' overtook the event before it.'
   from audit_events earlier join audit_events later
     on later.chain = earlier.chain and later.request_seq = earlier.request_seq + 1
   where earlier.seq is null and (later.seq is not null or later.insert_order < earlier.insert_order)
   order by later.chain limit 1)
  union all
  (select seq::float8, confirmation_id::text, 'Confirmation ' || confirmation_id || ' was asked for, but its row is missing.'
   from audit_events
   where kind = 'confirmation.requested'
     and not exists (select from confirmations where confirmations.id = audit_events.confirmation_id)
   order by audit_events.seq limit 1)`;

interface EventRow {
  readonly id: string;
  readonly at: string;
  readonly kind: string;
  readonly confirmation: string | null;
  readonly run: string | null;
  readonly actor_type: StoredAuditEvent['actor']['type'];
  readonly actor_id: string;
  readonly actor_name: string;
  readonly data_text: string;
  readonly chain: string;
  readonly request_seq: number;
  readonly request_prev: string;
  readonly request_hash: string;
  readonly canonical: string;
  readonly queued: boolean;
  readonly seq: string | null;
  readonly prev_hash: string | null;
  readonly hash: string | null;
}

const storedEventOf = (row: EventRow): StoredAuditEvent => ({
  id: row.id,
  at: row.at,
  kind: row.kind,
  confirmation: row.confirmation,
  run: row.run,
  actor: { type: row.actor_type, id: row.actor_id, name: row.actor_name },
  dataText: row.data_text,
  chain: row.chain,
  requestSeq: row.request_seq,
  requestPrev: row.request_prev,
  requestHash: row.request_hash,
  canonical: row.canonical,
  queued: row.queued,
  seq: row.seq === null ? null : Number(row.seq),
  prevHash: row.prev_hash,
  hash: row.hash,
});

interface ChainRow {
  readonly chain: string;
  readonly confirmation: string | null;
  readonly seq: string | null;
  readonly request_seq: number;
  readonly request_prev: string;
  readonly request_hash: string;
  readonly head_length: number | null;
  readonly head_hash: string | null;
}

const chainedEventOf = (row: ChainRow): ChainedEvent => ({
  chain: row.chain,
  confirmation: row.confirmation,
  seq: row.seq === null ? null : Number(row.seq),
  requestSeq: row.request_seq,
  requestPrev: row.request_prev,
  requestHash: row.request_hash,
  head: row.head_length === null ? null : { length: row.head_length, hash: row.head_hash ?? '' },
});

interface ConfirmationEvidenceRow {
  readonly id: string;
  readonly status: string;
  readonly organization: string;
  readonly tool: string;
  readonly tool_version: string | null;
  readonly args_text: string;
  readonly args_digest: string;
  readonly decision_code: string | null;
  readonly decision_reason: string | null;
  readonly decided_by_id: string | null;
  readonly decided_by_name: string | null;
  readonly decided_at: string | null;
  readonly execute_by: string | null;
  readonly claimed: boolean;
  readonly events: ConfirmationEvidence['events'];
}

const confirmationEvidenceOf = (row: ConfirmationEvidenceRow): ConfirmationEvidence => ({
  id: row.id,
  status: row.status,
  organization: row.organization,
  tool: row.tool,
  toolVersion: row.tool_version,
  argsText: row.args_text,
  argsDigest: row.args_digest,
  decision: {
    code: row.decision_code,
    reason: row.decision_reason,
    person: row.decided_by_id,
    personName: row.decided_by_name,
    at: row.decided_at,
    executeBy: row.execute_by,
  },
  claimed: row.claimed,
  events: row.events,
});
