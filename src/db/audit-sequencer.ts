import { asc, isNull, sql } from 'drizzle-orm';
import { logHashOf } from '../audit/event-hash.ts';
import type { Clock } from '../clock.ts';
import { Rounds } from '../rounds.ts';
import type { Connection, Database } from './database.ts';
import { auditEvents, auditHead } from './schema/audit.ts';

/** Held by the one replica that numbers the log, for one transaction at a time. */
const SEQUENCER_LOCK = 0x61756474;

/** Under load, what comes within this time is numbered together. */
const REST_MS = 100;

export interface AuditSequencerOptions {
  readonly database: Database;
  readonly clock: Clock;
  /** Told of every failed attempt; the next poll tries again. */
  readonly onError: (error: unknown) => void;
  /** The safety net where no notification comes. Default 500. */
  readonly pollIntervalMs?: number;
  /** Events a transaction. Default 1,000. */
  readonly batchSize?: number;
}

/**
 * Gives every event its number and its link in the whole log, after it was committed. Any number of replicas may run
 * one; an advisory lock lets one at a time work, and the others find nothing left to do.
 *
 * Within a chain the numbers follow `request_seq`: whoever appends holds the chain's head from before `insert_order`
 * is drawn until the commit, so the next event of that chain draws a larger one, and whoever sees it also sees the one
 * before. Between chains there is no order to keep. A batch is one transaction: a crash leaves it undone or done.
 */
export class AuditSequencer {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #onError: (error: unknown) => void;
  readonly #pollIntervalMs: number;
  readonly #batchSize: number;
  #unsubscribe: (() => void)[] = [];
  #cancelPoll: () => void = () => {};
  #rounds: Rounds;
  #stopped = true;

  constructor(options: AuditSequencerOptions) {
    this.#database = options.database;
    this.#clock = options.clock;
    this.#onError = options.onError;
    this.#pollIntervalMs = options.pollIntervalMs ?? 500;
    this.#batchSize = options.batchSize ?? 1_000;
    this.#rounds = this.#newRounds();
  }

  /** Works off what is there, then whatever comes, until `stop`. */
  start(): void {
    if (!this.#stopped) return;
    this.#stopped = false;
    this.#rounds = this.#newRounds();
    const { notifier } = this.#database;
    this.#unsubscribe = [
      notifier.subscribe('audit', () => this.#rounds.call()),
      notifier.subscribe('confirmation', () => this.#rounds.call()),
      notifier.onReconnect(() => this.#rounds.call()),
    ];
    this.#rounds.call();
  }

  /** Resolves when the batch in work is committed. What is not sequenced yet is left to the next start. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const unsubscribe of this.#unsubscribe.splice(0)) unsubscribe();
    this.#cancelPoll();
    await this.#rounds.stop();
  }

  /**
   * Sequences everything committed so far. Returns how many events this call numbered: fewer than there were where
   * another replica is at it. A throw left whole batches only.
   */
  async sequence(): Promise<number> {
    let total = 0;
    while (await this.#hasWork()) {
      const sequenced = await this.#database.transaction((connection) => this.#sequenceBatch(connection));
      if (sequenced === 0) break;
      total += sequenced;
    }
    return total;
  }

  #newRounds(): Rounds {
    return new Rounds({ clock: this.#clock, restMs: REST_MS, round: () => this.#round() });
  }

  async #round(): Promise<void> {
    this.#cancelPoll();
    try {
      await this.sequence();
    } catch (error) {
      this.#onError(error);
    }
    if (!this.#stopped)
      this.#cancelPoll = this.#clock.setTimer(this.#pollIntervalMs, () => this.#rounds.call());
  }

  /** One cheap read, so that idle replicas open no transaction at each poll. */
  async #hasWork(): Promise<boolean> {
    const found = await this.#database.connection
      .select({ id: auditEvents.id })
      .from(auditEvents)
      .where(isNull(auditEvents.seq))
      .limit(1);
    return found.length > 0;
  }

  async #sequenceBatch(connection: Connection): Promise<number> {
    const [attempt] = await connection
      .select({ locked: sql<boolean>`pg_try_advisory_xact_lock(${SEQUENCER_LOCK})` })
      .from(sql`(values (1)) as attempt`);
    if (!attempt?.locked) return 0;
    // Statements after the lock see everything its last holder committed.
    const [head] = await connection
      .select({ seq: auditHead.seq, hash: auditHead.hash })
      .from(auditHead)
      .for('update');
    if (!head) throw new Error('The head of the audit log is missing: run `countersign audit verify`.');
    const events = await connection
      .select({ id: auditEvents.id, requestHash: auditEvents.requestHash })
      .from(auditEvents)
      .where(isNull(auditEvents.seq))
      .orderBy(asc(auditEvents.insertOrder))
      .limit(this.#batchSize);
    if (events.length === 0) return 0;

    let { seq, hash } = head;
    const links = events.map(({ id, requestHash }) => {
      const prevHash = hash;
      seq += 1;
      hash = logHashOf({ requestHash, prevHash, seq });
      return { id, seq, prev_hash: prevHash, hash };
    });
    // By key, as a join alone is not planned.
    const ids = events.map(({ id }) => id);
    await connection.execute(sql`
      with advanced as (update audit_head set seq = ${seq}, hash = ${hash})
      update audit_events set seq = link.seq, prev_hash = link.prev_hash, hash = link.hash, insert_order = null
      from jsonb_to_recordset(${JSON.stringify(links)}::text::jsonb)
        as link (id uuid, seq bigint, prev_hash text, hash text)
      where audit_events.id = any(${sql.param(ids)}::uuid[]) and audit_events.id = link.id`);
    return links.length;
  }
}
