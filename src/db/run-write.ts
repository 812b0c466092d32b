import { type SQL, sql } from 'drizzle-orm';
import type { PlanNode } from '../agent/plan.ts';
import type { InvocationStatus, RunEvent } from '../agent/run.ts';
import type { RunLease } from '../agent/run-store.ts';
import type { InvocationId } from '../ids.ts';
import type { JsonObject } from '../json.ts';
import type { Connection } from './database.ts';
import { rowsOf } from './rows-of.ts';
import { invocations, runEvents, runs } from './schema/runs.ts';
import { storableJson } from './storable-json.ts';

export type NewRunEvent = Pick<RunEvent, 'kind'> & { readonly data: JsonObject };

/** One change of a run by the worker that holds it. */
export interface RunWrite {
  readonly events: readonly NewRunEvent[];
  /** A statement that adds a row; reads `from held`, so that nothing is added where the run is not held. */
  readonly insert?: SQL;
  readonly change?: InvocationChange;
  readonly holding?: boolean;
  /** The plan that a run without one has been given. */
  readonly plan?: readonly PlanNode[];
  /** A question about the rows as they were before, answered along with it. */
  readonly asks?: SQL;
}

export interface WrittenToRun {
  /** Whether the change was made; see `unless`. */
  readonly changed: boolean;
  readonly answer: boolean;
}

export interface InvocationChange {
  readonly id: InvocationId;
  /** The status it has afterwards. */
  readonly status: InvocationStatus;
  /** Whatever else changes: assignments, as in `set`. */
  readonly set?: SQL;
  /** Where this does not hold for it, the whole write is as if it had been made before: no change, no event. */
  readonly unless?: SQL;
}

/**
 * Writes in one statement, which is one transaction: takes the run's row under its fencing token, numbers the events,
 * changes the invocation, and brings the run's status up to date (`waiting` while any invocation is, or a node holds
 * it). Null: another worker has the run, and nothing was written.
 *
 * Its parts see the rows as they were when it began, so the writes of one worker have to come one after another; those
 * of any other are kept out by the token.
 */
export async function writeToRun(
  connection: Connection,
  lease: RunLease,
  { events, insert, change, holding, plan, asks }: RunWrite,
): Promise<WrittenToRun | null> {
  const rows = events.map(({ kind, data }, index) => ({ place: index + 1, kind, data: storableJson(data) }));
  const target =
    change === undefined
      ? sql`select true as found`
      : sql`select true as found from ${invocations}
            where ${invocations.id} = ${change.id} ${change.unless === undefined ? sql`` : sql`and not (${change.unless})`}`;
  const [held] = await rowsOf<WrittenToRun>(
    connection,
    sql`
    with target as materialized (${target}),
    held as (
      update ${runs} set
        event_seq = event_seq + ${events.length}::integer * (select count(*) from target)::integer,
        ${holding === undefined ? sql`` : sql`holding = ${holding},`}
        ${plan === undefined ? sql`` : sql`plan = ${JSON.stringify(storableJson(plan))}::text::jsonb,`}
        status = ${statusAfter(lease, change, holding)}
      where ${runs.id} = ${lease.run} and ${runs.fencingToken} = ${lease.fencingToken} and ${runs.finishedAt} is null
      returning event_seq
    ),
    changed as (${
      change === undefined
        ? (insert ?? sql`select`)
        : sql`update ${invocations} set status = ${change.status} ${change.set === undefined ? sql`` : sql`, ${change.set}`} from held, target
              where ${invocations.id} = ${change.id}`
    }),
    noted as (
      insert into ${runEvents} (run_id, seq, kind, data, at)
      select ${lease.run}::uuid, held.event_seq - ${events.length}::integer + event.place, event.kind, event.data, clock_timestamp()
      from held, target, jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) as event (place integer, kind text, data jsonb)
    )
    select (select found from target) is true as changed, ${asks ?? sql`false`} as answer from held`,
  );
  return held ?? null;
}

function statusAfter(
  { run }: RunLease,
  change: InvocationChange | undefined,
  holding: boolean | undefined,
): SQL {
  if (change === undefined && holding === undefined) return sql`${runs.status}`;
  const others = sql`exists (select 1 from ${invocations}
    where ${invocations.runId} = ${run} and ${invocations.status} = 'waiting'
      and ${invocations.id} is distinct from ${change?.id ?? null}::uuid)`;
  const holds = holding === undefined ? sql`${runs.holding}` : sql`${holding}::boolean`;
  const waits = change?.status === 'waiting' ? sql`true` : sql`(${holds} or ${others})`;
  return sql`case when not exists (select from target) then ${runs.status}
    when ${waits} then 'waiting' else 'running' end`;
}
