import type { Notifier, Topic } from './database.ts';

/** What a run writes within this time is announced once. */
const INTERVAL_MS = 20;

/**
 * Announces what this process has committed, to whoever watches: the first at once, what comes within the next
 * moments together. A run writes several times between two answers of its model, and a notification for each would
 * cost as much as the writes. Losing one only delays a watcher until the next poll.
 */
export class CoalescedNotices {
  readonly #notifier: Pick<Notifier, 'notify'>;
  readonly #waiting = new Map<string, Topic>();
  #resting = false;

  constructor(notifier: Pick<Notifier, 'notify'>) {
    this.#notifier = notifier;
  }

  announce(topic: Topic, id: string): void {
    this.#waiting.set(`${topic} ${id}`, topic);
    if (!this.#resting) this.#send();
  }

  #send(): void {
    this.#resting = this.#waiting.size > 0;
    if (!this.#resting) return;
    for (const [key, topic] of this.#waiting) {
      void this.#notifier.notify(topic, key.slice(topic.length + 1)).catch(() => {});
    }
    this.#waiting.clear();
    setTimeout(() => this.#send(), INTERVAL_MS).unref();
  }
}
