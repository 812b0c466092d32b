import type { Pool } from 'pg';
import { LISTEN_CHANNEL } from './topics.ts';

const NOTIFY = { name: 'notify', text: 'select pg_notify($1, payload) from unnest($2::text[]) as payload' };

/**
 * Sends notifications, all that came while the last ones were on their way in one statement: under load a
 * notification costs a fraction of a statement, and alone it leaves at once.
 */
export class NotificationSender {
  readonly #pool: Pool;
  #waiting = new Set<string>();
  #sending: Promise<void> = Promise.resolve();
  /** The batch that still takes payloads; null where the next payload opens one. */
  #next: Promise<void> | null = null;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Resolves when the payload was sent; throws where it may not have been. */
  send(payload: string): Promise<void> {
    this.#waiting.add(payload);
    this.#next ??= this.#sending.then(() => this.#sendBatch());
    return this.#next;
  }

  #sendBatch(): Promise<void> {
    const payloads = [...this.#waiting];
    this.#waiting = new Set();
    this.#next = null;
    const sent = this.#pool.query({ ...NOTIFY, values: [LISTEN_CHANNEL, payloads] });
    this.#sending = sent.then(
      () => {},
      () => {},
    );
    return sent.then(() => {});
  }
}
