import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import { sleep } from '../clock.ts';
import type { ConfirmationId } from '../ids.ts';
import { Rounds } from '../rounds.ts';
import type { CardSource } from './card-source.ts';
import type { Channel } from './channel.ts';
import type { ChatPace, PacedTask } from './chat-pace.ts';
import { type Delivered, deliverCard } from './deliver-card.ts';
import type { DeliveryMetrics } from './delivery-metrics.ts';
import type { DeliveryOutbox, DeliveryResult, DueDelivery } from './delivery-outbox.ts';
import { retryDelayMs } from './retry-delay.ts';

export interface DeliveryLaneInput {
  readonly channel: Channel;
  readonly outbox: DeliveryOutbox;
  readonly cards: CardSource;
  /** Shared with everything else that writes to the same chat. */
  readonly pace: ChatPace;
  readonly metrics: DeliveryMetrics;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  /** Called when a card was given up on: perhaps nobody can be asked any more. */
  readonly onGaveUp: (confirmation: ConfirmationId) => void;
}

/**
 * Most deliveries of each kind that one channel works on at once: a platform that hangs takes its own places and no
 * others, and new cards and changes have places of their own.
 */
const MOST_IN_FLIGHT = 4;
/** What would wait longer for its turn is not claimed yet: the lease runs, and another process may be free. */
const LONGEST_WAIT_MS = 3_000;
/** Looks begin no closer than this: cards that come faster are claimed together. */
const REST_MS = 100;
const SEND_TIMEOUT_MS = 10_000;
const LEASE_MS = 20_000;
/** A send begins only while its time-out and this much for the database still lie inside the lease. */
const LEASE_MARGIN_MS = 5_000;
const LONGEST_PAUSE_MS = 300_000;
/** A channel that has taken nothing for this long was out; when it is back, what stands in its chats is looked after. */
const OUTAGE_MS = 60_000;
/** Waits between tries to write down a result: forgetting a message that was sent costs more than these. */
const RECORD_RETRY_MS = [200, 1_000, 3_000];

/** The deliveries of one channel. Never throws: what goes wrong is logged, and the rows say what is still to do. */
export class DeliveryLane {
  readonly #input: DeliveryLaneInput;
  readonly #inFlight = new Map<Promise<void>, PacedTask>();
  readonly #draining = new AbortController();
  readonly #stopping = new AbortController();
  readonly #claims: Rounds;
  #stopped = false;
  /** Since when every try has failed; null while the channel takes cards. */
  #failingSince: number | null = null;

  constructor(input: DeliveryLaneInput) {
    this.#input = input;
    const { clock, logger, channel } = input;
    const round = () =>
      this.#claim().catch((error: unknown) =>
        logger.error({ err: error, channel: channel.id }, 'due cards could not be claimed'),
      );
    this.#claims = new Rounds({ clock, restMs: REST_MS, round });
  }

  /** Something may be due. Many calls at once cost one look. */
  wake(): void {
    this.#claims.call();
  }

  /** Takes nothing new and lets what is on its way finish; what is not back after `graceMs` is told to stop. */
  async stop(graceMs: number): Promise<void> {
    this.#stopped = true;
    this.#draining.abort();
    const cancel = this.#input.clock.setTimer(graceMs, () => this.#stopping.abort());
    await this.#claims.stop();
    await Promise.all(this.#inFlight.keys());
    cancel();
  }

  async #claim(): Promise<void> {
    const { channel, outbox, clock } = this.#input;
    const [sends, changes] = [this.#places('messages'), this.#places('changes')];
    if (sends + changes === 0) return;
    const claimedAt = clock.monotonic();
    const claimed = await outbox.claim({ channel: channel.id, sends, changes, leaseMs: LEASE_MS });
    for (const due of claimed) {
      const work = this.#deliver(due, claimedAt + LEASE_MS - LEASE_MARGIN_MS - SEND_TIMEOUT_MS)
        .catch((error: unknown) => this.#logFailed(due, error))
        .finally(() => {
          this.#inFlight.delete(work);
          // A place is free, and this card may already have to show something newer.
          this.#claims.callNow();
        });
      this.#inFlight.set(work, due.task === 'send' ? 'messages' : 'changes');
    }
  }

  #places(task: PacedTask): number {
    if (this.#input.pace.waitMs(task) > LONGEST_WAIT_MS) return 0;
    const taken = [...this.#inFlight.values()].filter((other) => other === task).length;
    return MOST_IN_FLIGHT - taken;
  }

  async #deliver(due: DueDelivery, beginBefore: number): Promise<void> {
    const { outbox, metrics, pace, logger, onGaveUp } = this.#input;
    if (this.#stopped) return outbox.release(due);
    const signal = this.#stopping.signal;
    const { result, pauseMs } = await deliverCard({
      ...this.#input,
      due,
      beginBefore,
      timeoutMs: SEND_TIMEOUT_MS,
      signal,
      stopping: this.#draining.signal,
    }).catch((error: unknown) => this.#notBegun(due, error));
    if (pauseMs !== null) pace.pause(Math.min(pauseMs, LONGEST_PAUSE_MS));
    if (result === null) return;
    metrics.delivered({ channel: due.channel, result: result.kind });
    if ('error' in result) {
      const { kind, error } = result;
      // Nobody waits for a card about what has ended.
      logger[error === 'closed_before_sent' ? 'debug' : 'warn'](
        { delivery: due.id, confirmation: due.confirmationId, channel: due.channel, result: kind, error },
        'a card was not delivered',
      );
    }
    await this.#record(due, result);
    await this.#watchForOutage(due, result).catch((error: unknown) => this.#logFailed(due, error));
    if (result.kind === 'gave-up') onGaveUp(due.confirmationId);
  }

  async #watchForOutage({ direct }: DueDelivery, result: DeliveryResult): Promise<void> {
    const { kind } = result;
    // One person who cannot be written to, or a card that nobody needed any more, says nothing about the channel.
    if (kind === 'gave-up' && (direct !== null || !result.mayRecover)) return;
    const now = this.#input.clock.monotonic();
    if (kind === 'uncertain' || kind === 'retry' || kind === 'gave-up') {
      this.#failingSince ??= now;
      return;
    }
    const wasOut = this.#failingSince !== null && now - this.#failingSince >= OUTAGE_MS;
    this.#failingSince = null;
    if (wasOut) await this.#input.outbox.rewrite(this.#input.channel.id);
  }

  /** Nothing went out. Tried again later, never at once: what fails for this card may fail for ever. */
  #notBegun(due: DueDelivery, error: unknown): Delivered {
    this.#logFailed(due, error);
    const { failedAttempts } = due;
    const retryInMs = retryDelayMs({ failedAttempts, retryAfterMs: null, random: this.#input.random });
    return { result: { kind: 'retry', error: 'internal', retryInMs }, pauseMs: null };
  }

  async #record(due: DueDelivery, result: DeliveryResult): Promise<void> {
    for (const waitMs of RECORD_RETRY_MS) {
      try {
        return await this.#input.outbox.record({ due, result });
      } catch (error) {
        this.#logFailed(due, error);
        await sleep(this.#input.clock, waitMs);
      }
    }
    await this.#input.outbox.record({ due, result });
  }

  #logFailed(due: DueDelivery, error: unknown): void {
    this.#input.logger.error(
      { err: error, delivery: due.id, channel: due.channel },
      'a delivery failed inside',
    );
  }
}
