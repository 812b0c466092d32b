import type { Clock } from '../clock.ts';
import type { RunId } from '../ids.ts';
import type { AgentLogger } from './invoke-ports.ts';
import type { RunSignals, RunStore } from './run-store.ts';

/** How often the runs watched in this process are looked at, all in one query. */
const POLL_INTERVAL_MS = 1_500;

/** One watch of one run. */
export interface RunSubscription {
  /** Resolves when the run may have changed since the last call, or when `signal` aborts. */
  changed(signal: AbortSignal): Promise<void>;
  close(): void;
}

/**
 * Tells who watches a run in this process that it changed: by notification, and by one shared poll where one was
 * lost. Subscribe first and read afterwards; the rows are the truth.
 */
export class RunWatcher {
  readonly #store: Pick<RunStore, 'eventCounts'>;
  readonly #signals: RunSignals;
  readonly #clock: Clock;
  readonly #logger: AgentLogger;
  readonly #watches = new Map<RunId, Set<Watch>>();
  readonly #counts = new Map<RunId, number>();
  #cancelPoll: () => void = () => {};
  #stopped = false;
  #unsubscribe: (() => void)[] = [];

  constructor(input: {
    readonly store: Pick<RunStore, 'eventCounts'>;
    readonly signals: RunSignals;
    readonly clock: Clock;
    readonly logger: AgentLogger;
  }) {
    this.#store = input.store;
    this.#signals = input.signals;
    this.#clock = input.clock;
    this.#logger = input.logger;
  }

  start(): void {
    this.#unsubscribe = [
      this.#signals.onRun((id) => this.#wake(id)),
      this.#signals.onReconnect(() => {
        for (const id of this.#watches.keys()) this.#wake(id);
      }),
    ];
    this.#schedulePoll();
  }

  stop(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#stopped = true;
    this.#cancelPoll();
  }

  subscribe(id: RunId): RunSubscription {
    const watch = new Watch();
    const others = this.#watches.get(id);
    if (others) others.add(watch);
    else this.#watches.set(id, new Set([watch]));
    return {
      changed: (signal) => watch.changed(signal),
      close: () => {
        const watches = this.#watches.get(id);
        watches?.delete(watch);
        if (watches?.size !== 0) return;
        this.#watches.delete(id);
        this.#counts.delete(id);
      },
    };
  }

  #wake(id: RunId): void {
    for (const watch of this.#watches.get(id) ?? []) watch.wake();
  }

  #schedulePoll(): void {
    this.#cancelPoll = this.#clock.setTimer(POLL_INTERVAL_MS, () => {
      void this.#poll().finally(() => {
        if (!this.#stopped) this.#schedulePoll();
      });
    });
  }

  async #poll(): Promise<void> {
    try {
      for (const [id, count] of await this.#store.eventCounts([...this.#watches.keys()])) {
        if (this.#counts.get(id) !== count) this.#wake(id);
        if (this.#watches.has(id)) this.#counts.set(id, count);
      }
    } catch (error) {
      this.#logger.warn({ err: error }, 'the watched runs cannot be read; trying again');
    }
  }
}

/** Remembers a change that came while nobody was asking. */
class Watch {
  #dirty = false;
  #release: () => void = () => {};

  wake(): void {
    this.#dirty = true;
    this.#release();
  }

  async changed(signal: AbortSignal): Promise<void> {
    if (!this.#dirty && !signal.aborted) {
      await new Promise<void>((resolve) => {
        this.#release = () => {
          signal.removeEventListener('abort', this.#release);
          resolve();
        };
        signal.addEventListener('abort', this.#release);
      });
    }
    this.#dirty = false;
  }
}
