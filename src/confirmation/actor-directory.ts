import { type BoundedAnswer, boundedCall } from '../channel/bounded-call.ts';
import type { Channel } from '../channel/channel.ts';
import type { ChannelActor } from '../channel/inbound-event.ts';
import type { Clock } from '../clock.ts';

export type DirectoryAnswer =
  | { readonly kind: 'found'; readonly actor: ChannelActor }
  | { readonly kind: 'unknown' }
  /** It could not be asked; nothing may follow from that. */
  | { readonly kind: 'unavailable'; readonly error: unknown };

/** The platform waits 3 s for the whole callback, and the vote still has to be counted after this. */
const ASK_WITHIN_MS = 1_200;
/** People change departments, not ids; who leaves is switched off in the configuration. */
const KEPT_MS = 10 * 60_000;
/** So that somebody nobody knows cannot have the directory asked with each tap. */
const UNKNOWN_KEPT_MS = 30_000;
const MOST_KEPT = 1_000;

interface Kept {
  readonly answer: Exclude<DirectoryAnswer, { kind: 'unavailable' }>;
  /** On the monotonic clock. */
  readonly until: number;
}

/**
 * The directories of the chat platforms, asked at most once for the same actor at a time and remembered for a while.
 * What could not be asked is never remembered: the next tap asks again.
 */
export class ActorDirectory {
  readonly #clock: Clock;
  /** Oldest first. */
  readonly #kept = new Map<string, Kept>();
  readonly #underWay = new Map<string, Promise<DirectoryAnswer>>();

  constructor(input: { readonly clock: Clock }) {
    this.#clock = input.clock;
  }

  /** Never throws. `unknown` also where the platform has no directory. */
  resolve(channel: Channel, actor: ChannelActor): Promise<DirectoryAnswer> {
    const key = JSON.stringify([channel.id, actor.provider, actor.tenant, Object.entries(actor.ids).sort()]);
    const kept = this.#kept.get(key);
    if (kept !== undefined && this.#clock.monotonic() < kept.until) return Promise.resolve(kept.answer);
    const underWay = this.#underWay.get(key);
    if (underWay !== undefined) return underWay;
    const asked = this.#ask(channel, actor)
      .then((answer) => {
        if (answer.kind !== 'unavailable') this.#keep(key, answer);
        return answer;
      })
      .finally(() => this.#underWay.delete(key));
    this.#underWay.set(key, asked);
    return asked;
  }

  async #ask(channel: Channel, actor: ChannelActor): Promise<DirectoryAnswer> {
    const answer = await boundedCall({
      clock: this.#clock,
      timeoutMs: ASK_WITHIN_MS,
      call: async (signal) => (await channel.resolve?.({ actor, signal })) ?? null,
    });
    if (answer.kind !== 'answered') return { kind: 'unavailable', error: failureOf(answer) };
    return answer.outcome === null ? { kind: 'unknown' } : { kind: 'found', actor: answer.outcome };
  }

  #keep(key: string, answer: Kept['answer']): void {
    const keptMs = answer.kind === 'found' ? KEPT_MS : UNKNOWN_KEPT_MS;
    this.#kept.delete(key);
    this.#kept.set(key, { answer, until: this.#clock.monotonic() + keptMs });
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MOST_KEPT && oldest !== undefined) this.#kept.delete(oldest);
  }
}

const failureOf = (answer: Exclude<BoundedAnswer<unknown>, { kind: 'answered' }>): unknown =>
  answer.kind === 'threw' ? answer.error : new Error(`The directory gave no answer in time: ${answer.kind}`);
