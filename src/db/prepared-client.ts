import { createHash } from 'node:crypto';
import type { PoolClient } from 'pg';

type Query = (...args: readonly unknown[]) => unknown;

/**
 * A client for drizzle that prepares each statement with parameters once a connection and runs it by name from then
 * on: the server parses and plans it the first time only, which is half of what a decision costs it.
 *
 * For statements of transactions, which find their rows by key. A statement that relies on a partial index must be
 * planned with its parameters in sight each time, and is run elsewhere.
 */
export function preparedClient(client: PoolClient): PoolClient {
  const query = client.query.bind(client) as Query;
  return Object.create(client, {
    query: {
      value: (config: unknown, values: unknown, ...rest: readonly unknown[]) =>
        query(withName(config, values), values, ...rest),
    },
  });
}

const names = new Map<string, string>();
/** Texts that are put together from lists are many; each name takes memory on every connection of the server. */
const MOST_NAMES = 200;

function withName(config: unknown, values: unknown): unknown {
  if (!Array.isArray(values) || values.length === 0) return config;
  if (typeof config !== 'object' || config === null || !('text' in config)) return config;
  return typeof config.text === 'string' ? { ...config, name: nameOf(config.text) } : config;
}

function nameOf(text: string): string | undefined {
  const known = names.get(text);
  if (known !== undefined) return known;
  if (names.size >= MOST_NAMES) return undefined;
  const name = createHash('sha256').update(text).digest('hex').slice(0, 32);
  names.set(text, name);
  return name;
}
