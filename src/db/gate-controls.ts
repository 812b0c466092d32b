import { sql } from 'drizzle-orm';
import type { GateControls } from '../confirmation/gate-controls.ts';
import type { Connection } from './database.ts';
import { gateControls } from './schema/confirmations.ts';

/**
 * The switches. `share` holds them until the surrounding transaction ends, against whoever would change them: what
 * is read is then what stands when the transaction commits. Throws where the row is missing: unknown is not "off".
 */
export async function readControls(
  connection: Connection,
  { share }: { readonly share: boolean },
): Promise<GateControls> {
  const query = connection
    .select({
      readOnlyOrganization: gateControls.readOnlyOrganization,
      readOnlyConnectors: gateControls.readOnlyConnectors,
      frozenTools: gateControls.frozenTools,
    })
    .from(gateControls);
  const [row] = await (share ? query.for('share') : query);
  if (!row) throw new Error('The row of gate_controls is missing; restore the database from a backup.');
  return row;
}

/**
 * Locks the switches for a change: returns once every transaction that holds them shared has ended, and whoever comes
 * later waits behind it. The lock is the whole table's, because that one queues: row locks let sharers pass a waiting
 * writer, and under a steady stream of claims a freeze would starve. Plain reads are not held up.
 */
export async function lockControlsForChange(connection: Connection): Promise<void> {
  await connection.execute(sql`set local lock_timeout = '8s'`);
  await connection.execute(sql`lock table ${gateControls} in exclusive mode`);
  await connection.execute(sql`set local lock_timeout = '2s'`);
}
