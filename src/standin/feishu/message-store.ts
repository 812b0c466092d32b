import { randomBytes } from 'node:crypto';
import type { Clock } from '../../clock.ts';
import type { JsonObject } from '../../json.ts';

export interface StandinMessage {
  /** `om_…` */
  readonly messageId: string;
  readonly chat: string;
  readonly uuid: string | null;
  readonly replyTo: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** What people see now. */
  readonly card: JsonObject;
  /** Every content this message ever had, oldest first, as the JSON text that was sent. */
  readonly contents: readonly string[];
}

/** "The same uuid within one hour makes at most one message" (open.feishu.cn, "Send message"). */
const UUID_LIFE_MS = 60 * 60_000;

/** The messages of the group and of direct messages, in the order they were sent. */
export class MessageStore {
  readonly #clock: Clock;
  readonly #messages = new Map<string, StandinMessage>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  all(): readonly StandinMessage[] {
    return [...this.#messages.values()];
  }

  get(messageId: string): StandinMessage | null {
    return this.#messages.get(messageId) ?? null;
  }

  /** A new message, or the one that this uuid has already made. */
  create(input: {
    readonly chat: string;
    readonly uuid: string | null;
    readonly replyTo: string | null;
    readonly content: string;
    readonly card: JsonObject;
  }): StandinMessage {
    const { content, ...rest } = input;
    const now = this.#clock.now();
    const earlier = this.all().find(
      ({ uuid, createdAt }) => uuid !== null && uuid === input.uuid && now - createdAt < UUID_LIFE_MS,
    );
    if (earlier) return earlier;
    const messageId = `om_${randomBytes(16).toString('hex')}`;
    return this.#put({ ...rest, messageId, createdAt: now, updatedAt: now, contents: [content] });
  }

  update(message: StandinMessage, content: string, card: JsonObject): StandinMessage {
    const contents = [...message.contents, content];
    return this.#put({ ...message, card, contents, updatedAt: this.#clock.now() });
  }

  #put(message: StandinMessage): StandinMessage {
    this.#messages.set(message.messageId, message);
    return message;
  }
}
