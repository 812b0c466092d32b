import type { Logger } from 'pino';
import { assertNever } from '../assert-never.ts';
import type { Clock } from '../clock.ts';
import type { ConfirmationId } from '../ids.ts';
import type { Locale } from '../locale.ts';
import { boundedCall } from './bounded-call.ts';
import type { Channel } from './channel.ts';
import { ChatPaces } from './chat-pace.ts';
import {
  type DueReminder,
  isQuiet,
  type ReminderKind,
  type ReminderOutbox,
  type ReminderResult,
} from './reminder-outbox.ts';
import { retryDelayMs } from './retry-delay.ts';

export interface ReminderWorkerInput {
  readonly outbox: ReminderOutbox;
  readonly channels: readonly Channel[];
  /** Shared with the delivery worker: a note is a message like any other; by default with nobody. */
  readonly paces?: ChatPaces;
  /** What a note says now; null where that is not so any more. */
  readonly textOf: (input: {
    readonly confirmationId: ConfirmationId;
    readonly kind: ReminderKind;
    readonly locale: Locale;
  }) => Promise<string | null>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** From 0 up to 1; spreads retries. Default `Math.random`. */
  readonly random?: () => number;
}

const CANNOT_REMIND = { kind: 'refused', error: 'cannot_remind' } as const;
/** Reminders are minutes after the question, and results stand on the card; a few seconds do not matter. */
const POLL_MS = 2_000;
/** After as many a channel is looked at anew two seconds later, like the others. */
const MOST_IN_A_ROW = 20;
const TURN_TIMEOUT_MS = 60_000;
const SEND_TIMEOUT_MS = 10_000;
/** A note that does not get through is no loss: the card is there, and so is the deadline. */
const MOST_ATTEMPTS = 10;

interface Lane {
  readonly channel: Channel;
  cancelTimer: () => void;
  working: Promise<void>;
}

/**
 * Posts the notes under the cards, each at most once however many processes run this. A process that dies while it
 * posts leaves the note on record as possibly posted, and nobody repeats it.
 */
export class ReminderWorker {
  readonly #input: ReminderWorkerInput;
  readonly #paces: ChatPaces;
  readonly #stopping = new AbortController();
  readonly #lanes: readonly Lane[];

  constructor(input: ReminderWorkerInput) {
    this.#input = input;
    this.#paces = input.paces ?? new ChatPaces(input.clock);
    this.#lanes = input.channels
      .filter(({ remind }) => remind !== undefined)
      .map((channel) => ({ channel, cancelTimer: () => {}, working: Promise.resolve() }));
  }

  start(): void {
    for (const lane of this.#lanes) this.#wait(lane);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    for (const { cancelTimer } of this.#lanes) cancelTimer();
    await Promise.all(this.#lanes.map(({ working }) => working));
  }

  /** One round over every channel that can remind. */
  async run(): Promise<void> {
    await Promise.all(this.#lanes.map(({ channel }) => this.#runChannel(channel)));
  }

  /** Each channel by itself: one that hangs, or has much to say, keeps none of the others waiting. */
  #wait(lane: Lane): void {
    if (this.#stopping.signal.aborted) return;
    lane.cancelTimer = this.#input.clock.setTimer(POLL_MS, () => {
      lane.working = this.#runChannel(lane.channel)
        .catch((error: unknown) => this.#input.logger.error({ err: error }, 'a round of reminders failed'))
        .then(() => this.#wait(lane));
    });
  }

  /**
   * One at a time: while it waits for its turn in the chat it is on record as possibly posted, and whether cards have
   * come meanwhile is looked at before each.
   */
  async #runChannel(channel: Channel): Promise<void> {
    const { outbox, logger } = this.#input;
    for (let posted = 0; posted < MOST_IN_A_ROW && !this.#stopping.signal.aborted; posted += 1) {
      const due = await outbox.claim({ channel: channel.id });
      if (due === null) return;
      const result = await this.#post(channel, due);
      await outbox.record({ id: due.id, result });
      if (result.kind === 'sent') continue;
      logger.warn(
        { reminder: due.id, confirmation: due.confirmationId, channel: channel.id, ...result },
        'a reminder was not posted',
      );
      // What ails the chat ails the next one as well.
      if (result.kind !== 'failed') return;
    }
  }

  async #post(channel: Channel, due: DueReminder): Promise<ReminderResult> {
    const { clock, textOf, random = Math.random } = this.#input;
    const { id, messageId, direct, confirmationId, kind, failedAttempts } = due;
    const again = (error: string, retryAfterMs: number | null): ReminderResult =>
      failedAttempts + 1 >= MOST_ATTEMPTS
        ? { kind: 'failed', error }
        : { kind: 'retry', error, retryInMs: retryDelayMs({ failedAttempts, retryAfterMs, random }) };

    let text: string | null;
    try {
      text = await textOf({ confirmationId, kind, locale: channel.locale });
    } catch {
      return again('internal', null);
    }
    if (text === null) return { kind: 'failed', error: 'closed_before_sent' };
    const note = text;
    const pace = this.#paces.of(channel);
    const before = clock.monotonic() + TURN_TIMEOUT_MS;
    if (!(await pace.turn({ task: 'messages', before, signal: this.#stopping.signal })))
      return again('no_turn', null);
    const answer = await boundedCall({
      clock,
      timeoutMs: SEND_TIMEOUT_MS,
      signal: this.#stopping.signal,
      call: async (signal) =>
        channel.remind?.({ id, messageId, direct, text: note, quiet: isQuiet(kind), signal }) ??
        CANNOT_REMIND,
    });
    if (answer.kind !== 'answered') return { kind: 'uncertain', error: answer.kind };
    const { outcome } = answer;
    switch (outcome.kind) {
      case 'sent':
        return { kind: 'sent' };
      case 'uncertain':
        return { kind: 'uncertain', error: outcome.error };
      case 'retry':
        if (outcome.retryAfterMs !== null) pace.pause(outcome.retryAfterMs);
        return again(outcome.error, outcome.retryAfterMs);
      case 'content-refused':
      case 'refused':
        return { kind: 'failed', error: outcome.error };
      default:
        return assertNever(outcome);
    }
  }
}
