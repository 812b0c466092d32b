import { drizzle } from 'drizzle-orm/node-postgres';
import type { Pool, PoolClient } from 'pg';
import type { Connection, TransactionOptions } from './database.ts';
import { preparedClient } from './prepared-client.ts';

/** A server that does not take back a transaction within this time is not there any more. */
const ROLLBACK_TIMEOUT_MS = 2_000;
/** Longer than anybody holds a lock who is not stuck. */
const LOCK_WAIT_MS = 2_000;
const READ_ONLY_SQL_TRANSACTION = '25006';

/**
 * Runs `work` in one transaction on a connection of its own. Whatever goes wrong, the connection goes back to the pool
 * clean, or not at all: one that broke, hangs, or may still be inside the transaction is closed, and the server then
 * rolls back. A commit whose answer was lost throws, though it may have been made: the rows tell.
 */
export async function runTransaction<T>(
  pool: Pool,
  work: (connection: Connection) => Promise<T>,
  { lockWaitMs = LOCK_WAIT_MS }: TransactionOptions = {},
): Promise<T> {
  const client = await pool.connect();
  let clean = false;
  try {
    // The level is said, not left to the server's default: after each lock that was waited for, the next statement
    // has to see what its last holder committed.
    await client.query(`begin isolation level read committed; set local lock_timeout = ${lockWaitMs}`);
    const result = await work(connectionOf(client));
    // After a statement that failed, and whose error `work` swallowed, the server rolls back and calls that no error.
    const { command } = await client.query('commit');
    clean = true;
    if (command !== 'COMMIT') throw new Error(`The transaction was not committed: ${command}`);
    return result;
  } catch (error) {
    clean ||= !isReadOnly(error) && (await rolledBack(client));
    throw error;
  } finally {
    client.release(!clean);
  }
}

/** One for as long as the client lives, so that what was prepared on it stays. */
const connections = new WeakMap<PoolClient, Connection>();

function connectionOf(client: PoolClient): Connection {
  const known = connections.get(client);
  if (known) return known;
  const connection = drizzle(preparedClient(client)) as unknown as Connection;
  connections.set(client, connection);
  return connection;
}

async function rolledBack(client: PoolClient): Promise<boolean> {
  const rollback = { text: 'rollback', query_timeout: ROLLBACK_TIMEOUT_MS };
  return client.query(rollback).then(
    () => true,
    () => false,
  );
}

/** A server that lost its place as the primary keeps its connections: only new ones find the one that took it. */
function isReadOnly(error: unknown): boolean {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 8; cause = cause.cause, depth += 1) {
    if ('code' in cause && cause.code === READ_ONLY_SQL_TRANSACTION) return true;
  }
  return false;
}
