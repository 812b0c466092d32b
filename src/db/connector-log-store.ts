import { sql } from 'drizzle-orm';
import { v7 as uuidv7 } from 'uuid';
import type { ConnectorLogEntry, ConnectorLogPort } from '../hook/hook-ports.ts';
import type { Database } from './database.ts';
import { connectorCalls } from './schema/hooks.ts';

/** The operators' log of settled calls, in `connector_calls`; times are the database's. */
export class ConnectorLogStore implements ConnectorLogPort {
  readonly #database: Pick<Database, 'connection'>;

  constructor(database: Pick<Database, 'connection'>) {
    this.#database = database;
  }

  async write(entry: ConnectorLogEntry): Promise<void> {
    const durationMs = entry.durationMs === null ? null : Math.round(entry.durationMs);
    await this.#database.connection
      .insert(connectorCalls)
      .values({ ...entry, durationMs, id: uuidv7(), at: sql`clock_timestamp()` });
  }
}
