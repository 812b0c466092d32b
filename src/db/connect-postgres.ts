import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import pg from 'pg';
import { cutAfterGoodbye } from './cut-after-goodbye.ts';
import type { Connection, Database } from './database.ts';
import { NotificationSender } from './notification-sender.ts';
import { PostgresListener } from './postgres-listener.ts';
import { preparedClient } from './prepared-client.ts';
import { runTransaction } from './run-transaction.ts';
import { encodeNotification, TopicSubscriptions } from './topics.ts';

export interface PostgresOptions {
  readonly url: string;
  readonly poolSize?: number;
  /** Told when the listener loses or regains its connection. */
  readonly onListenerChange?: (connected: boolean) => void;
  /** Off only to measure what waiting costs without notifications, and for commands that wait for nothing. */
  readonly listen?: boolean;
  /** How long one statement may take. Longer than the default only for migrations. */
  readonly statementTimeoutMs?: number;
}

/**
 * No statement of the service takes this long; what does is stuck, and its connection is given up. Also how long a
 * connection that died without a word (a failover, a partition) can hold up whoever uses it next.
 */
const STATEMENT_TIMEOUT_MS = 10_000;
/** What the server gets to say that a statement took too long, before its silence counts as the connection's end. */
const ANSWER_MARGIN_MS = 2_000;
/**
 * A process that stands still, or was cut off, between two statements would keep its row locks for as long as the
 * system believes in the connection; nobody could decide, and nothing would expire.
 */
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 10_000;
/** When the system begins to ask whether the other side of a silent connection is still there. */
const KEEP_ALIVE_AFTER_MS = 10_000;

/**
 * Opens a pool and the one LISTEN connection of this process. Throws when the database cannot be reached now; later
 * on, a lost connection fails the statements on it and is replaced.
 */
export async function connectPostgres(options: PostgresOptions): Promise<Database> {
  const statementTimeoutMs = options.statementTimeoutMs ?? STATEMENT_TIMEOUT_MS;
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.poolSize ?? 10,
    application_name: 'countersign',
    connectionTimeoutMillis: 10_000,
    statement_timeout: statementTimeoutMs,
    query_timeout: statementTimeoutMs + ANSWER_MARGIN_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_TIMEOUT_MS,
    // A decision that was answered survives a crash of the server, whatever its default is.
    options: '-c synchronous_commit=on -c TimeZone=UTC',
  });
  // A connection that breaks while nobody, or a transaction between two statements, uses it: the next statement on it
  // fails, which is where it is dealt with.
  pool.on('error', () => {});
  const open = new Set<pg.PoolClient>();
  pool.on('connect', (client) => {
    client.on('error', () => {});
    open.add(client);
    client.once('end', () => open.delete(client));
  });

  const connection = drizzle(pool) as unknown as Connection;
  const prepared = drizzle(preparedClient(pool as unknown as pg.PoolClient)) as unknown as Connection;
  const notifications = new NotificationSender(pool);
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
    prepared,
    transaction: (work, transactionOptions) => runTransaction(pool, work, transactionOptions),
    notifier: {
      notify: (topic, id) => notifications.send(encodeNotification(topic, id)),
      subscribe: (topic, onNotification) => subscriptions.subscribe(topic, onNotification),
      onReconnect: (run) => subscriptions.onReconnect(run),
      get connected() {
        return listener.connected;
      },
    },
    async close() {
      cutAfterGoodbye(open);
      await Promise.all([listener.stop(), pool.end()]);
    },
  };
}
