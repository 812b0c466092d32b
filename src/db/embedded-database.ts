import type { PGlite } from '@electric-sql/pglite';
import { drizzle } from 'drizzle-orm/pglite';
import type { Connection, Database } from './database.ts';
import { encodeNotification, TopicSubscriptions } from './topics.ts';

/** One connection. There are no other processes to wake, so notifications stay inside. */
export function embeddedDatabase(client: PGlite): Database {
  const connection = drizzle(client) as unknown as Connection;
  const subscriptions = new TopicSubscriptions();
  let closed = false;
  return {
    kind: 'embedded',
    connection,
    prepared: connection,
    transaction: (work) =>
      connection.transaction((transaction) => work(transaction as unknown as Connection)),
    notifier: {
      async notify(topic, id) {
        queueMicrotask(() => subscriptions.deliver(encodeNotification(topic, id)));
      },
      subscribe: (topic, onNotification) => subscriptions.subscribe(topic, onNotification),
      onReconnect: (run) => subscriptions.onReconnect(run),
      get connected() {
        return !closed;
      },
    },
    async close() {
      closed = true;
      await client.close();
    },
  };
}
