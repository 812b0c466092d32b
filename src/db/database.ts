import type { PgDatabase, PgQueryResultHKT } from 'drizzle-orm/pg-core';

/** What a statement runs on: the pool, or one open transaction. The same on both drivers. */
export type Connection = PgDatabase<PgQueryResultHKT, Record<string, never>>;

export interface TransactionOptions {
  /** How long a statement waits for what another transaction holds before it fails. */
  readonly lockWaitMs?: number;
}

/**
 * One open database. Inside `transaction` only the given connection may be used: the embedded database has a single
 * connection, and a second statement beside the transaction would wait for it for ever.
 */
export interface Database {
  readonly kind: 'postgres' | 'embedded';
  readonly connection: Connection;
  /**
   * The same, for statements that find their rows by key and are run again and again: parsed and planned once a
   * connection, without their parameters in sight.
   */
  readonly prepared: Connection;
  /** Runs `work` in one transaction; a throw rolls it back. Waits 2 s for a lock unless the options say otherwise. */
  transaction<T>(work: (connection: Connection) => Promise<T>, options?: TransactionOptions): Promise<T>;
  readonly notifier: Notifier;
  close(): Promise<void>;
}

/** Wakes other processes. A notification may be lost; the rows are the truth and a poll is the safety net. */
export interface Notifier {
  /** Sends after the commit, never inside the transaction (inside, NOTIFY serialises all commits). */
  notify(topic: Topic, id: string): Promise<void>;
  /** Returns the function that ends the subscription. */
  subscribe(topic: Topic, onNotification: (id: string) => void): () => void;
  /** Called whenever notifications may have been lost: after each (re)connection of the listener. */
  onReconnect(run: () => void): () => void;
  /** Whether the listener is connected now. */
  readonly connected: boolean;
}

/**
 * `confirmation`: it changed, so its waiters, its cards and the record have work. `run`: it has a new event. `cancel`:
 * somebody wants that run stopped. `audit`: the record has a new event that belongs to neither.
 */
export const TOPICS = ['confirmation', 'run', 'cancel', 'audit'] as const;
export type Topic = (typeof TOPICS)[number];
