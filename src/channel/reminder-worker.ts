import type { Logger } from 'pino';
import { assertNever } from '../assert-never.ts';
import type { Clock } from '../clock.ts';
import type { ConfirmationId } from '../ids.ts';
import type { Locale } from '../locale.ts';
import { boundedCall } from './bounded-call.ts';
import type { Channel } from './channel.ts';
import { ChatPaces } from './chat-pace.ts';
import type { DueReminder, ReminderKind, ReminderOutbox, ReminderResult } from './reminder-outbox.ts';
import { retryDelayMs } from './retry-delay.ts';

export interface ReminderWorkerInput {
  readonly outbox: ReminderOutbox;
  readonly channels: readonly Channel[];
  /** Shared with the delivery worker: a note is a message like any other; by default with nobody. */
  readonly paces?: ChatPaces;
  /** What a note says now; null where nobody has to be reminded any more. */
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
/** Reminders are minutes after the question; a few seconds do not matter. */
const POLL_MS = 2_000;
/** Few, because each waits for its turn in the chat while it is on record as possibly posted. */
const BATCH = 5;
const TURN_TIMEOUT_MS = 60_000;
const SEND_TIMEOUT_MS = 10_000;
/** A note that does not get through is no loss: the card is there, and so is the deadline. */
const MOST_ATTEMPTS = 10;

/**
 * Posts the notes under the cards, each at most once however many processes run this. A process that dies while it
 * posts leaves the note on record as possibly posted, and nobody repeats it.
 */
export class ReminderWorker {
  readonly #input: ReminderWorkerInput;
  readonly #paces: ChatPaces;
  readonly #stopping = new AbortController();
  #cancelTimer: () => void = () => {};
  #working: Promise<void> = Promise.resolve();

  constructor(input: ReminderWorkerInput) {
    this.#input = input;
    this.#paces = input.paces ?? new ChatPaces(input.clock);
  }

  start(): void {
    if (this.#stopping.signal.aborted) return;
    this.#cancelTimer = this.#input.clock.setTimer(POLL_MS, () => {
      this.#working = this.run()
        .catch((error: unknown) => this.#input.logger.error({ err: error }, 'reminders could not be read'))
        .then(() => this.start());
    });
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#cancelTimer();
    await this.#working;
  }

  /** One round over every channel that can remind. */
  async run(): Promise<void> {
    const able = this.#input.channels.filter(({ remind }) => remind !== undefined);
    await Promise.all(able.map((channel) => this.#runChannel(channel)));
  }

  async #runChannel(channel: Channel): Promise<void> {
    const { outbox, logger } = this.#input;
    for (const due of await outbox.claim({ channel: channel.id, limit: BATCH })) {
      const result = await this.#post(channel, due);
      // The others of the batch are on record as possibly posted, and nobody else would post them.
      await outbox
        .record({ id: due.id, result })
        .catch((error: unknown) =>
          logger.error({ err: error, reminder: due.id }, 'a reminder was not recorded'),
        );
      if (result.kind !== 'sent')
        logger.warn(
          { reminder: due.id, confirmation: due.confirmationId, channel: channel.id, ...result },
          'a reminder was not posted',
        );
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
        channel.remind?.({ id, messageId, direct, text: note, signal }) ?? CANNOT_REMIND,
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
