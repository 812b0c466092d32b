import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import type { ConfirmationId } from '../ids.ts';
import type { CardSource } from './card-source.ts';
import type { Channel } from './channel.ts';
import { ChatPaces } from './chat-pace.ts';
import { DeliveryLane } from './delivery-lane.ts';
import type { DeliveryMetrics } from './delivery-metrics.ts';
import type { DeliveryOutbox, Unreached } from './delivery-outbox.ts';

export interface DeliveryWorkerInput {
  readonly outbox: DeliveryOutbox;
  readonly cards: CardSource;
  readonly channels: readonly Channel[];
  /** Shared with whoever else writes to the same chats; by default nobody does. */
  readonly paces?: ChatPaces;
  readonly wakeUps: DeliveryWakeUps;
  /**
   * Asks the fallback channels about a request of which no card reached anybody, or closes it. Checks again, holding
   * the rows, that this is still so.
   */
  readonly endUnreached: (found: Unreached) => Promise<'rerouted' | 'closed' | 'unchanged'>;
  readonly metrics: DeliveryMetrics;
  readonly clock: Clock;
  readonly logger: Logger;
  /** From 0 up to 1; spreads retries. Default `Math.random`. */
  readonly random?: () => number;
}

/** Tells that a card may be due. Each returned function ends its subscription. */
export interface DeliveryWakeUps {
  onDelivery(run: () => void): () => void;
  /** Wake-ups may have been lost. */
  onReconnect(run: () => void): () => void;
}

const WARNINGS = {
  rerouted: 'nobody could be reached; the fallback channels are asked',
  closed: 'nobody could be asked; deliveries say why, and `countersign doctor` what to do',
} as const;

/** The safety net under lost wake-ups, and how late a retry can be. */
const POLL_MS = 1_000;
const UNREACHED_CHECK_MS = 5_000;
const MEND_MS = 60_000;
/** A card is re-issued so long before the platform stops changing it. */
const REISSUE_AHEAD_MS = 86_400_000;
/** How long a stop waits for platforms before it aborts; their answers are then `uncertain`. */
const STOP_GRACE_MS = 5_000;

/**
 * Brings every card to the chats and to its newest state. Any number of processes may run one: the rows are leased.
 * Nothing here waits for a person, holds a database connection while a platform works, or ends the process.
 */
export class DeliveryWorker {
  readonly #input: DeliveryWorkerInput;
  readonly #lanes: readonly DeliveryLane[];
  /** Rounds under way beside the lanes; `stop` waits for them. */
  readonly #closing = new Set<Promise<void>>();
  #mending: Promise<void> | null = null;
  #mendDueAt = Number.NEGATIVE_INFINITY;
  #unsubscribe: readonly (() => void)[] = [];
  #cancelPoll: () => void = () => {};
  #checkDueAt = Number.NEGATIVE_INFINITY;
  #stopped = false;

  constructor(input: DeliveryWorkerInput) {
    this.#input = input;
    const random = input.random ?? Math.random;
    const paces = input.paces ?? new ChatPaces(input.clock);
    const onGaveUp = (id: ConfirmationId) => this.#endUnreached(id);
    this.#lanes = input.channels.map(
      (channel) => new DeliveryLane({ ...input, channel, pace: paces.of(channel), random, onGaveUp }),
    );
  }

  start(): void {
    const { wakeUps } = this.#input;
    this.#unsubscribe = [wakeUps.onDelivery(() => this.#wake()), wakeUps.onReconnect(() => this.#wake())];
    this.#poll();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelPoll();
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    await Promise.all(this.#lanes.map((lane) => lane.stop(STOP_GRACE_MS)));
    await Promise.all([...this.#closing, this.#mending]);
  }

  #poll(): void {
    if (this.#stopped) return;
    this.#wake();
    const now = this.#input.clock.monotonic();
    if (now >= this.#checkDueAt && this.#closing.size === 0) {
      this.#checkDueAt = now + UNREACHED_CHECK_MS;
      this.#endUnreached();
    }
    if (now >= this.#mendDueAt && this.#mending === null) {
      this.#mendDueAt = now + MEND_MS;
      this.#mend();
    }
    this.#cancelPoll = this.#input.clock.setTimer(POLL_MS, () => this.#poll());
  }

  #wake(): void {
    for (const lane of this.#lanes) lane.wake();
  }

  /** Cards that age and cards that were given up on; what becomes due is found by the lanes' next look. */
  #mend(): void {
    const { outbox, channels, logger } = this.#input;
    this.#mending = (async () => {
      for (const { id, cardLifetimeMs } of channels) {
        const olderThanMs = cardLifetimeMs === undefined ? null : reissueAfterMs(cardLifetimeMs);
        await outbox.mend({ channel: id, olderThanMs });
      }
    })()
      .catch((error: unknown) => logger.error({ err: error }, 'old cards could not be looked through'))
      .finally(() => {
        this.#mending = null;
      });
  }

  /** One request, or every one that by time or refusals has reached nobody. */
  #endUnreached(confirmation?: ConfirmationId): void {
    const { outbox, logger, endUnreached } = this.#input;
    const work = (async () => {
      for (const found of await outbox.unreached(confirmation)) {
        const { confirmationId, reason } = found;
        // One that cannot be ended keeps none of the others open.
        const end = await endUnreached(found).catch((error: unknown) => {
          logger.error(
            { err: error, confirmation: confirmationId },
            'a request that reached nobody is still open',
          );
          return 'unchanged' as const;
        });
        if (end !== 'unchanged') logger.warn({ confirmation: confirmationId, reason }, WARNINGS[end]);
      }
    })()
      .catch((error: unknown) =>
        logger.error({ err: error }, 'requests that reached nobody could not be looked for'),
      )
      .finally(() => this.#closing.delete(work));
    this.#closing.add(work);
  }
}

/** A day before its time, or at half of it where it has less than two. */
const reissueAfterMs = (lifetimeMs: number): number =>
  lifetimeMs - Math.min(REISSUE_AHEAD_MS, lifetimeMs / 2);
