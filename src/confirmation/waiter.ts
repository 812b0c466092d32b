import type { Clock } from '../clock.ts';
import type { ConfirmationId } from '../ids.ts';
import type { ConfirmationRequest } from './confirmation-request.ts';
import type { WaitUntil } from './confirmation-service.ts';
import type { ConfirmationLedger, FoundClosed } from './ledger.ts';

/** How often the rows of everything this process waits for are read, in one query. */
export const POLL_INTERVAL_MS = 1_500;

/** Where notifications come from; the database's notifier implements it. */
export interface ConfirmationSignals {
  subscribe(topic: 'confirmation', onNotification: (id: string) => void): () => void;
  onReconnect(run: () => void): () => void;
}

/** What a row says of a request: closed, or nothing that this code can read. */
type Found = FoundClosed['closed' | 'unreadable'][number];

/**
 * Holds every wait of this process. A wait is an entry in a map: no connection, no slot, no poll of its own.
 *
 * A wait registers first and reads the row afterwards, so a decision between the two is seen. From then on a
 * notification, the shared poll, or a reconnected listener makes the row be read again; the row alone is believed.
 */
export class ConfirmationWaiter {
  readonly #ledger: Pick<ConfirmationLedger, 'find' | 'findClosed'>;
  readonly #signals: ConfirmationSignals;
  readonly #clock: Clock;
  readonly #onPollFailed: (error: unknown) => void;
  readonly #waiting = new Map<ConfirmationId, Set<(found: Found) => void>>();
  readonly #toRead = new Set<ConfirmationId>();
  #reading = false;
  #cancelPoll: (() => void) | null = null;
  #unsubscribe: (() => void)[] = [];

  constructor(input: {
    readonly ledger: Pick<ConfirmationLedger, 'find' | 'findClosed'>;
    readonly signals: ConfirmationSignals;
    readonly clock: Clock;
    /**
     * A read that failed: the next poll tries again, and nobody is released meanwhile. Or a row that cannot be read: whoever
     * waited for it is told.
     */
    readonly onPollFailed: (error: unknown) => void;
  }) {
    this.#ledger = input.ledger;
    this.#signals = input.signals;
    this.#clock = input.clock;
    this.#onPollFailed = input.onPollFailed;
  }

  start(): void {
    this.#unsubscribe = [
      this.#signals.subscribe('confirmation', (id) => this.#readSoon([id as ConfirmationId])),
      this.#signals.onReconnect(() => this.#readSoon(this.#waiting.keys())),
    ];
    this.#schedulePoll();
  }

  stop(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#cancelPoll?.();
  }

  /** How many requests are waited for, for the metrics. */
  get size(): number {
    return this.#waiting.size;
  }

  /**
   * Resolves with the closed request, or with the request as it is once `timeoutMs` is over or `signal` aborts; null
   * where there is no such request. With `until: 'grant-moved'` an approval that nobody has used yet is waited for
   * on. Rejects when the first read fails, and when the row turns out to be one that cannot be read.
   */
  async wait(input: {
    readonly id: ConfirmationId;
    readonly timeoutMs: number;
    readonly signal: AbortSignal;
    readonly until?: WaitUntil;
  }): Promise<ConfirmationRequest | null> {
    const { id, timeoutMs, signal, until = 'decided' } = input;
    let resolve: (end: Found | null) => void = () => {};
    // Never rejects: it may end before anybody looks.
    const released = new Promise<Found | null>((settle) => {
      resolve = settle;
    });
    const release = (found: Found) => {
      if (found instanceof Error || isOver(found, until)) resolve(found);
    };
    this.#register(id, release);
    const giveUp = () => resolve(null);
    const cancelTimer = Number.isFinite(timeoutMs) ? this.#clock.setTimer(timeoutMs, giveUp) : () => {};
    signal.addEventListener('abort', giveUp, { once: true });
    try {
      const first = await this.#ledger.find(id);
      if (first === null || isOver(first, until) || signal.aborted) return first;
      const found = await released;
      if (found instanceof Error) throw found;
      return found ?? (await this.#ledger.find(id));
    } finally {
      cancelTimer();
      signal.removeEventListener('abort', giveUp);
      this.#unregister(id, release);
    }
  }

  #register(id: ConfirmationId, release: (found: Found) => void): void {
    const others = this.#waiting.get(id);
    if (others) others.add(release);
    else this.#waiting.set(id, new Set([release]));
  }

  #unregister(id: ConfirmationId, release: (found: Found) => void): void {
    const others = this.#waiting.get(id);
    others?.delete(release);
    if (others?.size === 0) this.#waiting.delete(id);
  }

  /** Collects ids and reads them together: a thousand notifications are a few queries. */
  #readSoon(ids: Iterable<ConfirmationId>): void {
    for (const id of ids) if (this.#waiting.has(id)) this.#toRead.add(id);
    if (this.#reading || this.#toRead.size === 0) return;
    this.#reading = true;
    void this.#readAll();
  }

  async #readAll(): Promise<void> {
    try {
      while (this.#toRead.size > 0) {
        const ids = [...this.#toRead];
        this.#toRead.clear();
        const { closed, unreadable } = await this.#ledger.findClosed(ids);
        for (const found of [...closed, ...unreadable])
          for (const release of this.#waiting.get(found.id) ?? []) release(found);
        // Whoever waited for it waits no longer, so each poll asks for it, and says so, no more.
        for (const error of unreadable) this.#onPollFailed(error);
      }
    } catch (error) {
      this.#onPollFailed(error);
    } finally {
      this.#reading = false;
    }
  }

  #schedulePoll(): void {
    this.#cancelPoll = this.#clock.setTimer(POLL_INTERVAL_MS, () => {
      this.#readSoon(this.#waiting.keys());
      this.#schedulePoll();
    });
  }
}

function isOver(request: ConfirmationRequest, until: WaitUntil): boolean {
  if (request.status === 'pending') return false;
  const unused = request.status === 'approved' && request.execution.status === 'unclaimed';
  return until === 'decided' || !unused;
}
