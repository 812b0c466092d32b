import { and, asc, desc, eq, isNotNull, isNull, lt, type SQL, sql } from 'drizzle-orm';
import type { AuditKind } from '../audit/audit-event.ts';
import type { PersonRef } from '../confirmation/confirmation-request.ts';
import { actorOf } from '../confirmation/decision-event.ts';
import type { EndFreezeOutcome, Freeze, Freezes } from '../confirmation/freeze.ts';
import { newEventId, personId } from '../ids.ts';
import type { JsonObject } from '../json.ts';
import { appendAuditEvents } from './audit-store.ts';
import type { Connection, Database } from './database.ts';
import { lockControlsForChange } from './gate-controls.ts';
import { gateControls } from './schema/confirmations.ts';
import { freezes } from './schema/freezes.ts';

type FreezeRow = typeof freezes.$inferSelect;
type End = Parameters<Freezes['end']>[0];

/** One reading of the clock, kept in milliseconds as people see it. */
const NOW = sql`date_trunc('milliseconds', clock_timestamp())` as unknown as Date;

/**
 * Freezes in the database. Each change locks the row of `gate_controls`, which every claim holds shared until it
 * commits: when `start` resolves, every claim that matches has either committed before it or will be refused. The
 * event is written in the same transaction. Cards follow afterwards (`FreezeCards`): a freeze never waits for them.
 */
export class FreezeStore implements Freezes {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  start({ tools, reason, by }: Parameters<Freezes['start']>[0]): Promise<Freeze> {
    return this.#change(async (connection) => {
      const [row] = await connection
        .insert(freezes)
        .values({
          id: newEventId(),
          tools: [...tools],
          reason,
          startedAt: NOW,
          startedById: by.id,
          startedByName: by.name,
          cardsDueAt: NOW,
        })
        .returning();
      if (!row) throw new Error('The freeze was not stored');
      await record(connection, 'freeze.started', row, by);
      return freezeOfRow(row);
    });
  }

  end(input: End): Promise<EndFreezeOutcome> {
    return this.#change(async (connection) => {
      const [row] = await connection.select().from(freezes).where(eq(freezes.id, input.id));
      if (!row) return { kind: 'not-found' };
      if (row.endedAt !== null) return { kind: 'ended', freeze: freezeOfRow(row) };
      if (row.endRequestedById === input.by.id) return { kind: 'requested', freeze: freezeOfRow(row) };
      const seconded = row.endRequestedById !== null && input.mayStill(row.endRequestedById);
      return seconded ? endNow(connection, input) : requestEnd(connection, input);
    });
  }

  async list({ active, limit, before }: Parameters<Freezes['list']>[0]): Promise<readonly Freeze[]> {
    const conditions: SQL[] = [];
    if (active !== null) conditions.push(active ? isNull(freezes.endedAt) : isNotNull(freezes.endedAt));
    if (before !== null) conditions.push(lt(freezes.id, before));
    const rows = await this.#database.connection
      .select()
      .from(freezes)
      .where(and(...conditions))
      .orderBy(desc(freezes.id))
      .limit(limit);
    return rows.map(freezeOfRow);
  }

  async active(): Promise<readonly Freeze[]> {
    const rows = await this.#database.connection
      .select()
      .from(freezes)
      .where(isNull(freezes.endedAt))
      .orderBy(asc(freezes.startedAt), asc(freezes.id));
    return rows.map(freezeOfRow);
  }

  /** Locks the switches, changes the freezes, and writes down what is frozen then where claims read it. */
  async #change<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    const result = await this.#database.transaction(async (connection) => {
      await lockControlsForChange(connection);
      const locked = await connection
        .select({ singleton: gateControls.singleton })
        .from(gateControls)
        .for('update');
      if (locked.length === 0)
        throw new Error('The row of gate_controls is missing; restore the database from a backup.');
      const outcome = await work(connection);
      const frozen = sql`(select coalesce(array_agg(distinct tool order by tool), '{}')
        from ${freezes}, unnest(${freezes.tools}) as tool where ${freezes.endedAt} is null)`;
      await connection
        .update(gateControls)
        .set({ frozenTools: frozen, changedAt: sql`clock_timestamp()` })
        .where(sql`${gateControls.frozenTools} is distinct from ${frozen}`);
      return outcome;
    });
    // The event is on the record; a lost wake-up only delays its number, until the sequencer's next poll.
    await this.#database.notifier.notify('audit', 'system').catch(() => {});
    return result;
  }
}

async function requestEnd(connection: Connection, { id, by }: End): Promise<EndFreezeOutcome> {
  const [row] = await connection
    .update(freezes)
    .set({ endRequestedAt: NOW, endRequestedById: by.id, endRequestedByName: by.name })
    .where(eq(freezes.id, id))
    .returning();
  if (!row) throw new Error(`Freeze ${id} has gone while it was locked`);
  await record(connection, 'freeze.end_requested', row, by);
  return { kind: 'requested', freeze: freezeOfRow(row) };
}

async function endNow(connection: Connection, { id, by }: End): Promise<EndFreezeOutcome> {
  const [row] = await connection
    .update(freezes)
    .set({ endedAt: NOW, endedById: by.id, endedByName: by.name, cardsDueAt: NOW })
    .where(eq(freezes.id, id))
    .returning();
  if (!row) throw new Error(`Freeze ${id} has gone while it was locked`);
  await record(connection, 'freeze.ended', row, by, { requestedBy: row.endRequestedById });
  return { kind: 'ended', freeze: freezeOfRow(row) };
}

const record = (
  connection: Connection,
  kind: Extract<AuditKind, 'freeze.started' | 'freeze.end_requested' | 'freeze.ended'>,
  row: FreezeRow,
  by: PersonRef,
  more: JsonObject = {},
): Promise<void> =>
  appendAuditEvents(connection, [
    {
      kind,
      confirmation: null,
      run: null,
      actor: actorOf(by),
      data: { freeze: row.id, tools: row.tools, reason: row.reason, ...more },
    },
  ]);

const freezeOfRow = (row: FreezeRow): Freeze => ({
  id: row.id,
  tools: row.tools,
  reason: row.reason,
  startedAt: row.startedAt,
  startedBy: { id: personId(row.startedById), name: row.startedByName },
  endRequested: actOf(row.endRequestedAt, row.endRequestedById, row.endRequestedByName),
  ended: actOf(row.endedAt, row.endedById, row.endedByName),
});

const actOf = (at: Date | null, id: string | null, name: string | null): Freeze['ended'] =>
  at === null || id === null || name === null ? null : { at, by: { id: personId(id), name } };
