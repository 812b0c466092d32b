import { sql } from 'drizzle-orm';
import type { AuditActor } from '../audit/audit-event.ts';
import type { ReadOnlyPort } from '../hook/hook-ports.ts';
import { appendAuditEvents } from './audit-store.ts';
import type { Connection, Database } from './database.ts';
import { lockControlsForChange } from './gate-controls.ts';
import { gateControls } from './schema/confirmations.ts';

export interface ReadOnlyState {
  readonly organization: boolean;
  /** Ids of the connectors that are switched to read-only by themselves, sorted. */
  readonly connectors: readonly string[];
}

export type ReadOnlyScope =
  | { readonly kind: 'organization' }
  | { readonly kind: 'connector'; readonly id: string };

/**
 * The switch that stops every writing tool, in the row of `gate_controls` that each claim locks: a call is either
 * claimed before the switch or refused after it. Throws where the row is missing: unknown is not "writable".
 */
export class ReadOnlyStore implements ReadOnlyPort {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async isReadOnly(connector: string | null): Promise<boolean> {
    const { organization, connectors } = await this.get();
    return organization || (connector !== null && connectors.includes(connector));
  }

  async get(): Promise<ReadOnlyState> {
    return stateOf(await this.#database.connection.select(STATE).from(gateControls));
  }

  /**
   * Sets it with its audit event in one transaction, and returns the new state. A switch that already stands so is
   * left alone, without an event.
   */
  async set(change: {
    readonly scope: ReadOnlyScope;
    readonly readOnly: boolean;
    readonly actor: AuditActor;
  }): Promise<ReadOnlyState> {
    const { before, after } = await this.#database.transaction(async (connection) => {
      await lockControlsForChange(connection);
      const state = stateOf(await connection.select(STATE).from(gateControls).for('update'));
      const wanted = changed(state, change);
      if (wanted !== state) await this.#write(connection, wanted, change);
      return { before: state, after: wanted };
    });
    // The event is on the record; a lost wake-up only delays its number, until the sequencer's next poll.
    if (after !== before) await this.#database.notifier.notify('audit', 'system').catch(() => {});
    return after;
  }

  async #write(
    connection: Connection,
    state: ReadOnlyState,
    change: Parameters<ReadOnlyStore['set']>[0],
  ): Promise<void> {
    await connection.update(gateControls).set({
      readOnlyOrganization: state.organization,
      readOnlyConnectors: [...state.connectors],
      changedAt: sql`clock_timestamp()`,
    });
    const { scope, readOnly, actor } = change;
    await appendAuditEvents(connection, [
      {
        kind: 'read_only.changed',
        confirmation: null,
        run: null,
        actor,
        data: {
          scope: scope.kind,
          connector: scope.kind === 'connector' ? scope.id : null,
          readOnly,
        },
      },
    ]);
  }
}

const STATE = {
  organization: gateControls.readOnlyOrganization,
  connectors: gateControls.readOnlyConnectors,
};

function stateOf(rows: readonly ReadOnlyState[]): ReadOnlyState {
  const [row] = rows;
  if (!row) throw new Error('The row of gate_controls is missing; restore the database from a backup.');
  return { organization: row.organization, connectors: [...row.connectors].sort() };
}

/** The same object where nothing changes. */
function changed(
  state: ReadOnlyState,
  { scope, readOnly }: { readonly scope: ReadOnlyScope; readonly readOnly: boolean },
): ReadOnlyState {
  if (scope.kind === 'organization') {
    return state.organization === readOnly ? state : { ...state, organization: readOnly };
  }
  if (state.connectors.includes(scope.id) === readOnly) return state;
  const others = state.connectors.filter((id) => id !== scope.id);
  return { ...state, connectors: readOnly ? [...others, scope.id].sort() : others };
}
