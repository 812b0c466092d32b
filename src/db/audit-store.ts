import { type SQL, sql } from 'drizzle-orm';
import type { AuditRecorder, NewAuditEvent } from '../audit/audit-event.ts';
import { canonicalEventText, chainOf, sha256Hex } from '../audit/event-hash.ts';
import { storableData, storableText } from '../audit/storable-data.ts';
import { newEventId, parseConfirmationId, parseRunId } from '../ids.ts';
import type { Connection, Database } from './database.ts';
import { rowsOf } from './rows-of.ts';

/**
 * Puts events on the record inside the caller's transaction, in the order given, each linked to the one before it in
 * its chain. Two statements, whatever the number of events: the first locks the chains' heads (sorted, so that two
 * writers never hold one each and wait for the other's) and reads the clock behind those locks; the second stores the
 * events and the new heads. The locks last until the commit, so a chain never forks and its times never run backwards
 * unless the server's clock does. A throw means nothing may be committed.
 */
export async function appendAuditEvents(
  connection: Connection,
  events: readonly NewAuditEvent[],
  held: ReadonlyMap<string, ChainEnd> = new Map(),
): Promise<void> {
  if (events.length === 0) return;
  const ends = await lockChains(connection, events, held);
  const rows = events.map((event) => {
    const chain = chainOf(event);
    const end = ends.get(chain);
    if (!end) throw new Error(`The audit chain ${chain} was not locked.`);
    const row = chainedRow(event, chain, end);
    ends.set(chain, { ...end, length: row.request_seq, head: row.request_hash });
    return row;
  });
  const heads = [...ends].map(([chain, { length, head }]) => ({ chain, length, head }));
  const chains = heads.map(({ chain }) => chain);
  // A parameter each, so that the statement is the same (and stays prepared) for any number of events. That the chains
  // are given as an array as well lets the plan find them by their key, which it does not do for a join alone.
  await connection.execute(sql`
    with advanced as (
      update audit_chains set length = wanted.length, head = wanted.head
      from jsonb_to_recordset(${JSON.stringify(heads)}::text::jsonb)
        as wanted (chain text, length integer, head text)
      where audit_chains.chain = any(${sql.param(chains)}::text[]) and audit_chains.chain = wanted.chain
    )
    insert into audit_events (id, at, kind, confirmation_id, run_id, actor_type, actor_id, actor_name, data,
                              chain, request_seq, request_prev, request_hash, canonical)
    select id, at, kind, confirmation_id, run_id, actor_type, actor_id, actor_name, data,
           chain, request_seq, request_prev, request_hash, canonical
    from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) as event (
      id uuid, at timestamptz, kind text, confirmation_id uuid, run_id uuid, actor_type text, actor_id text,
      actor_name text, data jsonb, chain text, request_seq integer, request_prev text, request_hash text,
      canonical text)
    order by chain, request_seq`);
}

/** Records single events in a transaction of their own, and wakes the sequencer. */
export function createAuditRecorder(database: Database): AuditRecorder {
  return {
    async record(event) {
      await database.transaction((connection) => appendAuditEvents(connection, [event]));
      // The event is on the record; a lost wake-up only delays its number, until the sequencer's next poll.
      await database.notifier.notify('audit', event.confirmation ?? event.run ?? 'system').catch(() => {});
    },
  };
}

/** Where a chain ends, its row locked by the open transaction. */
export interface ChainEnd {
  readonly length: number;
  readonly head: string;
  /** The database clock, read once the chain was locked. */
  readonly at: string;
}

/** A reading of the clock as an event states it: ISO 8601 in UTC with milliseconds. */
export const CLOCK_TEXT = (time: SQL): SQL =>
  sql`to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** Locks the head of every chain that the events belong to; the ends as they were before these events. */
async function lockChains(
  connection: Connection,
  events: readonly NewAuditEvent[],
  held: ReadonlyMap<string, ChainEnd>,
): Promise<Map<string, ChainEnd>> {
  const ends = new Map<string, ChainEnd>();
  const missing = new Set<string>();
  for (const chain of events.map(chainOf)) {
    const end = held.get(chain);
    if (end) ends.set(chain, end);
    else missing.add(chain);
  }
  if (missing.size === 0) return ends;
  // The update changes nothing: it is there to lock the row.
  const locked = await rowsOf<ChainEnd & { readonly chain: string }>(
    connection,
    sql`
    insert into audit_chains (chain, length, head)
    select chain, 0, '' from unnest(${sql.param([...missing].sort())}::text[]) with ordinality as wanted (chain, place)
    order by place
    on conflict (chain) do update set length = audit_chains.length
    returning chain, length, head, ${CLOCK_TEXT(sql`clock_timestamp()`)} as at`,
  );
  for (const { chain, length, head, at } of locked) ends.set(chain, { length, head, at });
  return ends;
}

function chainedRow(event: NewAuditEvent, chain: string, end: ChainEnd) {
  const id = newEventId();
  const { kind, confirmation, run, actor, data } = storableEvent(event);
  const [requestSeq, requestPrev] = [end.length + 1, end.head];
  const canonical = canonicalEventText({
    id,
    at: end.at,
    kind,
    confirmation,
    run,
    actor,
    data,
    requestSeq,
    requestPrev,
  });
  return {
    id,
    at: end.at,
    kind,
    confirmation_id: confirmation,
    run_id: run,
    actor_type: actor.type,
    actor_id: actor.id,
    actor_name: actor.name,
    data,
    chain,
    request_seq: requestSeq,
    request_prev: requestPrev,
    request_hash: sha256Hex(canonical),
    canonical,
  };
}

/** What is hashed and what is stored, the same. Throws for an id that the column would give back in another spelling. */
export function storableEvent(event: NewAuditEvent): NewAuditEvent {
  const { kind, confirmation, run } = event;
  if (confirmation !== null && parseConfirmationId(confirmation) === null) throw notAnId(confirmation);
  if (run !== null && parseRunId(run) === null) throw notAnId(run);
  const actor = {
    type: event.actor.type,
    id: storableText(event.actor.id, 200),
    name: storableText(event.actor.name, 200),
  };
  return { kind, confirmation, run, actor, data: storableData(event.data) };
}

const notAnId = (text: string): Error =>
  new Error(`An audit event names ${JSON.stringify(text)}, which is not an id in lower case.`);
