import { type Clock, sleep } from '../clock.ts';
import type { ChannelAddress } from './channel.ts';

/** How fast a platform takes what goes to one chat. New messages and changes of messages have limits of their own. */
export interface ChannelPace {
  readonly messages: Rate;
  readonly changes: Rate;
}

export interface Rate {
  readonly perSecond: number;
  /** How many may go out at once after a rest; 1: each keeps its distance from the one before. */
  readonly burst: number;
}

export type PacedTask = keyof ChannelPace;

/** For a channel that does not say how fast its platform is. */
const CAUTIOUS: ChannelPace = {
  messages: { perSecond: 1, burst: 1 },
  changes: { perSecond: 1, burst: 5 },
};

/**
 * Who may write to one chat, and when: everything in this process that does takes its turn here. New messages and
 * changes wait in lines of their own, so neither can hold up the other. What the platform says by a 429 holds up both.
 */
export class ChatPace {
  readonly #clock: Clock;
  readonly #pace: ChannelPace;
  /** When the next call would be due if all so far had kept their distance (the theoretical arrival time of a GCRA). */
  readonly #dueAt: Record<PacedTask, number> = {
    messages: Number.NEGATIVE_INFINITY,
    changes: Number.NEGATIVE_INFINITY,
  };
  #pausedUntil = Number.NEGATIVE_INFINITY;

  constructor({ clock, pace }: { readonly clock: Clock; readonly pace: ChannelPace }) {
    this.#clock = clock;
    this.#pace = pace;
  }

  /** How long a call that asked now would wait. */
  waitMs(task: PacedTask): number {
    return Math.max(0, this.#nextAt(task) - this.#clock.monotonic());
  }

  /**
   * Waits for one turn, first come, first served. False: it could not begin before `before` (on the monotonic clock),
   * or `signal` ended the wait; nothing may go out then.
   */
  async turn(input: {
    readonly task: PacedTask;
    readonly before: number;
    readonly signal: AbortSignal;
  }): Promise<boolean> {
    const { task, before, signal } = input;
    const at = this.#nextAt(task);
    if (signal.aborted || Math.max(at, this.#clock.monotonic()) >= before) return false;
    const now = this.#clock.monotonic();
    this.#dueAt[task] = Math.max(this.#dueAt[task], now, this.#pausedUntil) + this.#gapMs(task);
    try {
      // Timers may fire a little early, and a pause may have begun meanwhile.
      for (
        let waitMs = at - now;
        waitMs > 0;
        waitMs = Math.max(at, this.#pausedUntil) - this.#clock.monotonic()
      ) {
        if (this.#clock.monotonic() + waitMs >= before) return false;
        await sleep(this.#clock, Math.ceil(waitMs), signal);
      }
    } catch {
      return false;
    }
    return !signal.aborted && this.#pausedUntil <= this.#clock.monotonic();
  }

  /** The platform asked to be left alone for so long. */
  pause(forMs: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#clock.monotonic() + forMs);
  }

  #nextAt(task: PacedTask): number {
    const { burst } = this.#pace[task];
    return Math.max(this.#dueAt[task] - (burst - 1) * this.#gapMs(task), this.#pausedUntil);
  }

  #gapMs(task: PacedTask): number {
    return 1_000 / this.#pace[task].perSecond;
  }
}

/** The paces of all chats that this process writes to; two channels that share a chat share its pace. */
export class ChatPaces {
  readonly #clock: Clock;
  readonly #paces = new Map<string, ChatPace>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  of({
    address,
    pace = CAUTIOUS,
  }: {
    readonly address: ChannelAddress;
    readonly pace?: ChannelPace;
  }): ChatPace {
    // Without the app: Feishu's limit of a group is shared by all bots in it.
    const key = JSON.stringify([address.provider, address.tenant, address.chat]);
    const known = this.#paces.get(key) ?? new ChatPace({ clock: this.#clock, pace });
    this.#paces.set(key, known);
    return known;
  }
}
