import { type SQL, sql } from 'drizzle-orm';
import type { NewAuditEvent } from '../audit/audit-event.ts';
import { canonicalEventParts, chainOf } from '../audit/event-hash.ts';
import { newEventId } from '../ids.ts';
import { CLOCK_TEXT, storableEvent } from './audit-store.ts';

/**
 * Puts one event on the record as parts of a larger statement, which is then its own transaction: the event is there
 * if and only if the rest of the statement is. The server links and hashes it by the same text as
 * `appendAuditEvents`, behind the same lock and with the clock read there.
 */
export interface AuditAppend {
  /** Whether the event's chain has begun. One that has not (no run, no request is without) cannot be added to here. */
  readonly chainExists: SQL;
  /** Parts of a `with` list. `where` says whether the event is written, and is looked at before the chain is locked. */
  parts(where: SQL): SQL;
}

export function auditAppend(event: NewAuditEvent): AuditAppend {
  const chain = chainOf(event);
  const stored = storableEvent(event);
  const { kind, confirmation, run, actor, data } = stored;
  const id = newEventId();
  const { beforeTime, beforePrev, beforeSeq, afterSeq } = canonicalEventParts({ id, ...stored });
  return {
    chainExists: sql`exists (select from audit_chains where chain = ${chain})`,
    parts: (where) => sql`
    chain_end as materialized (
      select length, head from audit_chains where chain = ${chain} and ${where} for update of audit_chains
    ),
    linked as materialized (
      select length + 1 as seq, head as prev, ${CLOCK_TEXT(sql`clock_timestamp()`)} as at from chain_end
    ),
    canonical as materialized (
      select seq, prev, at, ${beforeTime}::text || at || ${beforePrev}::text || prev || ${beforeSeq}::text || seq || ${afterSeq}::text as canonical
      from linked
    ),
    hashed as materialized (
      select *, encode(sha256(convert_to(canonical, 'UTF8')), 'hex') as hash from canonical
    ),
    advanced as (
      update audit_chains set length = hashed.seq, head = hashed.hash from hashed where audit_chains.chain = ${chain}
    ),
    recorded as (
      insert into audit_events (id, at, kind, confirmation_id, run_id, actor_type, actor_id, actor_name, data,
                                chain, request_seq, request_prev, request_hash, canonical)
      select ${id}::uuid, at::timestamptz, ${kind}::text, ${confirmation}::uuid, ${run}::uuid, ${actor.type}::text,
             ${actor.id}::text, ${actor.name}::text, ${JSON.stringify(data)}::text::jsonb,
             ${chain}::text, seq, prev, hash, canonical
      from hashed
    )`,
  };
}
