import { type SQL, sql } from 'drizzle-orm';
import type { ProposedInvocation, SkippedInvocation } from '../agent/run-record.ts';
import type { RunId } from '../ids.ts';
import { jsonb } from './jsonb.ts';
import { invocations } from './schema/runs.ts';
import { storableText } from './storable-json.ts';

/** Adds an invocation to the run that is `held`, under the hooks that the run names. A part of `writeToRun`. */
export function newInvocation(
  run: RunId,
  { id, position, tool }: SkippedInvocation,
  made: Pick<ProposedInvocation, 'callId' | 'args' | 'proposedDigest'> & {
    readonly phase: 'proposed' | 'settled';
    readonly status: 'running' | 'skipped';
  },
): SQL {
  const [turn, place] = position.kind === 'turn' ? [position.turn, position.place] : [null, null];
  const node = position.kind === 'node' ? position.node : null;
  const callId = made.callId === null ? null : storableText(made.callId);
  return sql`
    insert into ${invocations} (id, run_id, turn, place, node, call_id, tool, phase, status, args, proposed_digest,
                                hook_revision, side_effects, created_at, finished_at)
    select ${id}::uuid, ${run}::uuid, ${turn}::integer, ${place}::integer, ${node}::text, ${callId}::text,
           ${storableText(tool)}::text, ${made.phase}::text, ${made.status}::text, ${jsonb(made.args)},
           ${made.proposedDigest}::text, held.hook_revision, '[]'::jsonb, clock_timestamp(),
           case when ${made.phase}::text = 'settled' then clock_timestamp() end
    from held`;
}

/** The node of a plan in whose place a call stands; null for a call of a turn. */
export const nodeOf = ({ position }: Pick<SkippedInvocation, 'position'>): string | null =>
  position.kind === 'node' ? position.node : null;
