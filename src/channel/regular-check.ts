import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import type { ChannelHealth } from './channel.ts';

const CHECK_EVERY_MS = 60_000;

/**
 * Asks a platform at the start, and every minute from then on, whether a channel could work, and keeps the answer. What
 * it says stops nothing: one chat that is down must not keep the gate and the other chats from starting. Changes are
 * logged.
 */
export class RegularCheck {
  readonly #ask: (signal: AbortSignal) => Promise<ChannelHealth>;
  readonly #platform: string;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #stopping = new AbortController();
  #health: ChannelHealth = { ready: false, detail: 'not started' };
  #cancelNext: () => void = () => {};
  #running: Promise<void> = Promise.resolve();

  constructor(input: {
    /** Its signal ends the question when the channel stops. */
    readonly ask: (signal: AbortSignal) => Promise<ChannelHealth>;
    /** For the log. */
    readonly platform: string;
    readonly clock: Clock;
    readonly logger: Logger;
  }) {
    this.#ask = input.ask;
    this.#platform = input.platform;
    this.#clock = input.clock;
    this.#logger = input.logger;
  }

  /** Does not wait for the platform. */
  start(): void {
    this.#health = { ready: false, detail: 'not checked yet' };
    this.#running = this.#check();
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the channel stops'));
    this.#cancelNext();
    await this.#running;
    this.#health = { ready: false, detail: 'stopped' };
  }

  health(): ChannelHealth {
    return this.#health;
  }

  async #check(): Promise<void> {
    const before = this.#health.detail;
    const health = await this.#ask(this.#stopping.signal).catch((error: unknown): ChannelHealth => {
      this.#logger.error({ err: error }, `${this.#platform} could not be checked`);
      return { ready: false, detail: 'the check failed' };
    });
    if (this.#stopping.signal.aborted) return;
    this.#health = health;
    const { ready, detail } = health;
    if (detail !== before)
      this.#logger[ready ? 'info' : 'error'](
        { detail },
        `${this.#platform} ${ready ? 'can' : 'cannot'} be used`,
      );
    this.#cancelNext = this.#clock.setTimer(CHECK_EVERY_MS, () => {
      this.#running = this.#check();
    });
  }
}
