import type { Connection } from './database.ts';

/**
 * A statement that is put together once a connection instead of once a call: putting it together costs as much as
 * running it. Give it parameters by `sql.placeholder`.
 */
export function preparedPerConnection<Query>(
  prepare: (connection: Connection) => Query,
): (connection: Connection) => Query {
  const prepared = new WeakMap<Connection, Query>();
  return (connection) => {
    const known = prepared.get(connection);
    if (known !== undefined) return known;
    const query = prepare(connection);
    prepared.set(connection, query);
    return query;
  };
}
