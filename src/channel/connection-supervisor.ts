import type { Logger } from 'pino';
import { type Clock, sleep } from '../clock.ts';
import type { ConnectionStatus } from './inbound-connection.ts';

/** One connection that stands. */
export interface Link {
  /** Resolves, and never rejects, when another has to take its place. */
  readonly over: Promise<LinkEnd>;
  /** Lets what is under way on it be answered, then closes it. Never rejects; a second call changes nothing. */
  close(): Promise<void>;
}

export interface LinkEnd {
  readonly reason: string;
  /** The platform only asked to be relieved: until the replacement stands, and a while beyond, it still carries events. */
  readonly stillCarries: boolean;
}

/** `reason` is for operators and holds no secret. */
export type OpenedLink<Opened extends Link = Link> =
  | { readonly kind: 'open'; readonly link: Opened }
  | { readonly kind: 'failed'; readonly reason: string; readonly retryAfterMs: number | null };

export interface ConnectionSupervisorOptions {
  /** How many connections shall stand at the same time: while one is replaced, another still takes events. */
  readonly size: number;
  /** Opens one connection; has to give up, and to free everything, when `signal` aborts. A throw counts as failed. */
  readonly open: (signal: AbortSignal) => Promise<OpenedLink>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** From 0 up to 1. */
  readonly random?: () => number;
}

const OPEN_WITHIN_MS = 20_000;
/** A connection that lived this long was a good one; whoever dies sooner is opened again ever more slowly. */
const STEADY_AFTER_MS = 30_000;
/** How long a relieved connection still takes the events that the platform had on the way to it. */
const LINGER_MS = 15_000;
const FIRST_DELAY_MS = 1_000;
const LONGEST_DELAY_MS = 60_000;
/** Longer requests to wait are not believed: a wrong header must not silence a chat. */
const LONGEST_ASKED_MS = 300_000;

interface Slot {
  link: Link | null;
  /** Why it is not connected; null before the first attempt has ended, and while it is connected. */
  trouble: string | null;
}

/**
 * Keeps a channel's connections up for ever, each on its own: whatever ends one, or refuses it, only decides how long
 * to wait. The wait doubles from a second to a minute while attempts fail or connections die young, with up to half
 * taken off by chance, so that many replicas do not come back in one instant. No failure leaves this class.
 */
export class ConnectionSupervisor {
  readonly #options: ConnectionSupervisorOptions;
  readonly #random: () => number;
  readonly #stopping = new AbortController();
  readonly #slots: Slot[] = [];
  readonly #closing = new Set<Promise<void>>();
  #loops: readonly Promise<void>[] = [];
  #opened = 0;

  constructor(options: ConnectionSupervisorOptions) {
    this.#options = options;
    this.#random = options.random ?? Math.random;
  }

  start(): void {
    for (let at = 0; at < this.#options.size; at += 1) this.#slots.push({ link: null, trouble: null });
    this.#loops = this.#slots.map((slot) => this.#keep(slot));
  }

  /** Opens nothing more; lets each connection answer what is under way, and closes them all. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the channel stops'));
    await Promise.all(this.#loops);
    await Promise.all(this.#closing);
  }

  status(): ConnectionStatus {
    const wanted = this.#slots.length;
    const open = this.#slots.filter(({ link }) => link !== null).length;
    const trouble = this.#slots.find((slot) => slot.trouble !== null)?.trouble;
    const counted = `${open} of ${wanted} connections`;
    return {
      wanted,
      open,
      reconnects: Math.max(0, this.#opened - wanted),
      detail: trouble === undefined ? counted : `${counted} (${trouble})`,
    };
  }

  async #keep(slot: Slot): Promise<void> {
    const { clock, logger } = this.#options;
    const { signal } = this.#stopping;
    let failures = 0;
    let relieved: Link | null = null;
    while (!signal.aborted) {
      const opened = await this.#open();
      let retryAfterMs: number | null = null;
      if (opened.kind === 'failed') {
        failures += 1;
        retryAfterMs = opened.retryAfterMs;
        if (slot.trouble !== opened.reason && !signal.aborted)
          logger.warn({ reason: opened.reason }, 'a connection to the platform could not be opened');
        slot.trouble = opened.reason;
      } else {
        const openedAt = clock.monotonic();
        this.#opened += 1;
        slot.link = opened.link;
        slot.trouble = null;
        if (relieved !== null) this.#closeLater(relieved);
        relieved = null;
        const end = await ended(opened.link, signal);
        slot.link = null;
        if (end?.stillCarries) relieved = opened.link;
        else this.#close(opened.link);
        if (end === null) break;
        slot.trouble = end.reason;
        logger.info({ reason: end.reason }, 'a connection to the platform is replaced');
        failures = clock.monotonic() - openedAt >= STEADY_AFTER_MS ? 0 : failures + 1;
      }
      await this.#pause(failures, retryAfterMs);
    }
    if (relieved !== null) this.#close(relieved);
  }

  async #open(): Promise<OpenedLink> {
    const overdue = new AbortController();
    const clear = this.#options.clock.setTimer(OPEN_WITHIN_MS, () =>
      overdue.abort(new Error('the platform takes too long')),
    );
    try {
      return await this.#options.open(AbortSignal.any([this.#stopping.signal, overdue.signal]));
    } catch {
      // What was thrown may hold the address with its ticket.
      const reason = overdue.signal.aborted ? 'the platform takes too long' : 'opening it failed';
      return { kind: 'failed', reason, retryAfterMs: null };
    } finally {
      clear();
    }
  }

  async #pause(failures: number, retryAfterMs: number | null): Promise<void> {
    const full = Math.min(FIRST_DELAY_MS * 2 ** Math.max(0, failures - 1), LONGEST_DELAY_MS);
    // After a good connection the next follows at once, and only the spread over replicas is left.
    const delayMs = failures === 0 ? (FIRST_DELAY_MS / 2) * this.#random() : full * (1 - this.#random() / 2);
    const askedMs = Math.min(Math.max(0, retryAfterMs ?? 0), LONGEST_ASKED_MS);
    // The only rejection is that of a stop, which the loop sees by itself.
    await sleep(this.#options.clock, Math.max(delayMs, askedMs), this.#stopping.signal).catch(() => {});
  }

  #closeLater(link: Link): void {
    const { clock } = this.#options;
    this.#track(
      sleep(clock, LINGER_MS, this.#stopping.signal)
        .catch(() => {})
        .then(() => link.close()),
    );
  }

  #close(link: Link): void {
    this.#track(link.close());
  }

  #track(closing: Promise<void>): void {
    const quiet = closing.catch((error: unknown) =>
      this.#options.logger.error({ err: error }, 'a connection could not be closed in order'),
    );
    this.#closing.add(quiet);
    void quiet.then(() => this.#closing.delete(quiet));
  }
}

/** Null where the stop came first. */
function ended(link: Link, signal: AbortSignal): Promise<LinkEnd | null> {
  return new Promise((resolve) => {
    const stopped = () => resolve(null);
    if (signal.aborted) return stopped();
    signal.addEventListener('abort', stopped, { once: true });
    void link.over.then((end) => {
      signal.removeEventListener('abort', stopped);
      resolve(end);
    });
  });
}
