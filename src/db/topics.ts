import type { Topic } from './database.ts';
import { TOPICS } from './database.ts';

/** The one LISTEN channel of a service; the payload says the topic and the id. */
export const LISTEN_CHANNEL = 'countersign';

export const encodeNotification = (topic: Topic, id: string): string => `${topic} ${id}`;

/** Keeps who listens to what in this process, and hands a payload to the right ones. */
export class TopicSubscriptions {
  readonly #byTopic = new Map<Topic, Set<(id: string) => void>>(TOPICS.map((topic) => [topic, new Set()]));
  readonly #onReconnect = new Set<() => void>();

  subscribe(topic: Topic, onNotification: (id: string) => void): () => void {
    this.#byTopic.get(topic)?.add(onNotification);
    return () => this.#byTopic.get(topic)?.delete(onNotification);
  }

  onReconnect(run: () => void): () => void {
    this.#onReconnect.add(run);
    return () => this.#onReconnect.delete(run);
  }

  deliver(payload: string): void {
    const [topic, id = ''] = payload.split(' ');
    for (const listener of this.#byTopic.get(topic as Topic) ?? []) listener(id);
  }

  reconnected(): void {
    for (const run of this.#onReconnect) run();
  }
}
