import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import pg from 'pg';
import type { Connection, Database } from './database.ts';
import { PostgresListener } from './postgres-listener.ts';
import { encodeNotification, LISTEN_CHANNEL, TopicSubscriptions } from './topics.ts';

export interface PostgresOptions {
  readonly url: string;
  readonly poolSize?: number;
  /** Told when the listener loses or regains its connection. */
  readonly onListenerChange?: (connected: boolean) => void;
  /** Off only to measure what waiting costs without notifications, and for commands that wait for nothing. */
  readonly listen?: boolean;
}

/** No statement of the service takes this long; what does is stuck, and its connection is given up. */
const STATEMENT_TIMEOUT_MS = 30_000;

/**
 * Opens a pool and the one LISTEN connection of this process. Throws when the database cannot be reached now; later
 * on, a lost connection fails the statements on it and is replaced.
 */
export async function connectPostgres(options: PostgresOptions): Promise<Database> {
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.poolSize ?? 10,
    application_name: 'countersign',
    connectionTimeoutMillis: 10_000,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    query_timeout: STATEMENT_TIMEOUT_MS + 5_000,
    keepAlive: true,
    // A decision that was answered survives a crash of the server, whatever its default is.
    options: '-c synchronous_commit=on -c TimeZone=UTC',
  });
  // A connection that breaks while nobody, or a transaction between two statements, uses it: the next statement on it
  // fails, which is where it is dealt with.
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));

  const connection = drizzle(pool) as unknown as Connection;
  const subscriptions = new TopicSubscriptions();
  const listener = new PostgresListener({
    url: options.url,
    onPayload: (payload) => subscriptions.deliver(payload),
    onChange(connected) {
      options.onListenerChange?.(connected);
      if (connected) subscriptions.reconnected();
    },
  });
  try {
    await connection.execute(sql`select 1`);
    if (options.listen ?? true) await listener.start();
  } catch (error) {
    await listener.stop();
    await pool.end();
    throw error;
  }

  return {
    kind: 'postgres',
    connection,
    transaction: (work) =>
      connection.transaction(async (transaction) => {
        await transaction.execute(sql`set local lock_timeout = '2s'`);
        return work(transaction as unknown as Connection);
      }),
    notifier: {
      async notify(topic, id) {
        await pool.query('select pg_notify($1, $2)', [LISTEN_CHANNEL, encodeNotification(topic, id)]);
      },
      subscribe: (topic, onNotification) => subscriptions.subscribe(topic, onNotification),
      onReconnect: (run) => subscriptions.onReconnect(run),
      get connected() {
        return listener.connected;
      },
    },
    async close() {
      await Promise.all([listener.stop(), pool.end()]);
    },
  };
}
