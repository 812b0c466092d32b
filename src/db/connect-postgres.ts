import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/postgres-js';
import postgres from 'postgres';
import type { Connection, Database, Topic } from './database.ts';
import { encodeNotification, LISTEN_CHANNEL, TopicSubscriptions } from './topics.ts';

export interface PostgresOptions {
  readonly url: string;
  readonly poolSize?: number;
  /** Called with a sentence when the listener loses or regains its connection. */
  readonly onListenerChange?: (connected: boolean) => void;
  /** Off only to measure what waiting costs without notifications. Default true. */
  readonly listen?: boolean;
}

/** Opens a pool and the one LISTEN connection of this process. Throws when the database cannot be reached. */
export async function connectPostgres(options: PostgresOptions): Promise<Database> {
  const pool = postgres(options.url, {
    max: options.poolSize ?? 10,
    connect_timeout: 10,
    onnotice: () => {},
    // A decision that was answered survives a crash of the server, whatever its default is.
    connection: { application_name: 'countersign', synchronous_commit: 'on', TimeZone: 'UTC' },
  });
  const connection = drizzle(pool) as unknown as Connection;
  await connection.execute(sql`select 1`);

  const subscriptions = new TopicSubscriptions();
  let connected = false;
  const setConnected = (now: boolean) => {
    if (connected !== now) options.onListenerChange?.(now);
    connected = now;
  };

  // The library reopens a lost listener by itself and calls `onlisten` again.
  const listener = postgres(options.url, {
    max: 1,
    idle_timeout: 0,
    max_lifetime: null,
    onnotice: () => {},
    onclose: () => setConnected(false),
    connection: { application_name: 'countersign-listen' },
  });
  if (options.listen ?? true) {
    await listener.listen(
      LISTEN_CHANNEL,
      (payload) => subscriptions.deliver(payload),
      () => {
        setConnected(true);
        subscriptions.reconnected();
      },
    );
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
      async notify(topic: Topic, id: string) {
        await pool`select pg_notify(${LISTEN_CHANNEL}, ${encodeNotification(topic, id)})`;
      },
      subscribe: (topic, onNotification) => subscriptions.subscribe(topic, onNotification),
      onReconnect: (run) => subscriptions.onReconnect(run),
      get connected() {
        return connected;
      },
    },
    async close() {
      await Promise.all([listener.end({ timeout: 2 }), pool.end({ timeout: 5 })]);
    },
  };
}
