import type { Clock } from '../clock.ts';
import { Rounds } from '../rounds.ts';
import type { Notifier, Topic } from './database.ts';

/** What a run writes within this time is announced once. */
const REST_MS = 20;

/**
 * Announces what this process has committed, to whoever watches: the first at once, what comes within the next
 * moments together. A run writes several times between two answers of its model, and a notification for each would
 * cost as much as the writes. Losing one only delays a watcher until the next poll.
 */
export class CoalescedNotices {
  readonly #notifier: Pick<Notifier, 'notify'>;
  readonly #rounds: Rounds;
  #waiting = new Map<string, readonly [topic: Topic, id: string]>();

  constructor({ notifier, clock }: { readonly notifier: Pick<Notifier, 'notify'>; readonly clock: Clock }) {
    this.#notifier = notifier;
    this.#rounds = new Rounds({ clock, restMs: REST_MS, round: () => this.flush() });
  }

  announce(topic: Topic, id: string): void {
    this.#waiting.set(`${topic} ${id}`, [topic, id]);
    this.#rounds.call();
  }

  /** Sends what rests, without the rest: for who closes the database next. Never rejects. */
  async flush(): Promise<void> {
    const announced = [...this.#waiting.values()];
    this.#waiting = new Map();
    await Promise.allSettled(announced.map(([topic, id]) => this.#notifier.notify(topic, id)));
  }
}
