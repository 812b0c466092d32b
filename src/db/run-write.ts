import { type SQL, sql } from 'drizzle-orm';
import type { PlanNode } from '../agent/plan.ts';
import type { InvocationStatus, RunEvent } from '../agent/run.ts';
import type { RunEnd } from '../agent/run-record.ts';
import type { RunLease } from '../agent/run-store.ts';
import type { NewAuditEvent } from '../audit/audit-event.ts';
import type { HookChain } from '../hook/hook-chain.ts';
import type { InvocationId, RunId } from '../ids.ts';
import type { JsonObject } from '../json.ts';
import { auditAppend } from './audit-append.ts';
import type { Connection } from './database.ts';
import { rowsOf } from './rows-of.ts';
import { invocations, runEvents, runs } from './schema/runs.ts';
import { storableJson, storableText } from './storable-json.ts';

export type NewRunEvent = Pick<RunEvent, 'kind'> & { readonly data: JsonObject };

/** One change of a run by the worker that holds it. */
export interface RunWrite {
  readonly events: readonly NewRunEvent[];
  /** A statement that adds rows or changes them; reads `from held`, so that nothing is added where the run is not held. */
  readonly insert?: SQL;
  readonly change?: InvocationChange;
  readonly holding?: boolean;
  /** The plan that a run without one has been given. */
  readonly plan?: readonly PlanNode[];
  /** The hooks under which it works from here on. */
  readonly hooks?: HookChain;
  /** The end of the run: its last write. */
  readonly end?: RunEnd;
  /** What goes on the audit log with it, or nothing is written. */
  readonly audit?: NewAuditEvent;
  /** Where this holds, the whole write is as if it had been made before. For one without a `change`, which has its own. */
  readonly unless?: SQL;
  /** A question about the rows as they were before, answered along with it. */
  readonly asks?: SQL;
}

export interface WrittenToRun {
  /** Whether the change was made; see `unless`. */
  readonly changed: boolean;
  readonly answer: boolean;
  /** The run that called this one. */
  readonly parent: RunId | null;
  /** Whether somebody has asked to stop the run by now, also where they did so while this write waited for its row. */
  readonly unwanted: boolean;
}

export interface InvocationChange {
  readonly id: InvocationId;
  /** The status it has afterwards. */
  readonly status: InvocationStatus;
  /** Whatever else changes: assignments, as in `set`; they may read `held`, the run's row as this write leaves it. */
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
  { events, insert, change, holding, plan, hooks, end, audit, asks, unless }: RunWrite,
): Promise<WrittenToRun | null> {
  const rows = events.map(({ kind, data }, index) => ({ place: index + 1, kind, data: storableJson(data) }));
  const target =
    change === undefined
      ? sql`select true as found where not (${unless ?? sql`false`})`
      : sql`select true as found from ${invocations}
            where ${invocations.id} = ${change.id} ${change.unless === undefined ? sql`` : sql`and not (${change.unless})`}`;
  const append = audit === undefined ? null : auditAppend(audit);
  const [held] = await rowsOf<WrittenToRun>(
    connection,
    sql`
    with target as materialized (${target}),
    held as (
      update ${runs} set
        event_seq = event_seq + ${events.length}::integer * (select count(*) from target)::integer,
        ${holding === undefined ? sql`` : sql`holding = ${holding},`}
        ${plan === undefined ? sql`` : sql`plan = ${JSON.stringify(storableJson(plan))}::text::jsonb,`}
        ${hooks === undefined ? sql`` : sql`hook_chain = ${JSON.stringify(hooks)}::text::jsonb,`}
        ${end === undefined ? sql`` : endSet(end)}
        status = ${end === undefined ? statusAfter(lease, change, holding) : sql`${end.status}`}
      where ${runs.id} = ${lease.run} and ${runs.fencingToken} = ${lease.fencingToken} and ${runs.finishedAt} is null
        ${append === null ? sql`` : sql`and ${append.chainExists}`}
      returning event_seq, parent_run, hook_chain ->> 'revision' as hook_revision,
        cancel_requested_at is not null as unwanted
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
    ${append === null ? sql`` : sql`, ${append.parts(sql`exists (select from held) and exists (select from target)`)}`}
    select (select found from target) is true as changed, ${asks ?? sql`false`} as answer, parent_run as parent,
      unwanted
    from held`,
  );
  return held ?? null;
}

const endSet = ({ output, error }: RunEnd): SQL => sql`
  output = ${output === null ? null : storableText(output)},
  error_code = ${error?.code ?? null}, error_message = ${error === null ? null : storableText(error.message)},
  finished_at = clock_timestamp(), lease_owner = null,`;

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
