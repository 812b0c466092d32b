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
