import type { Logger } from 'pino';

/** Work that a channel has begun and that nobody waits for, except the channel's own stop. */
export class WorkUnderWay {
  readonly #logger: Logger;
  readonly #works = new Set<Promise<void>>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Resolves, and never rejects, when `work` has ended; a failure is logged. */
  async track(work: Promise<void>): Promise<void> {
    const quiet = work.catch((error: unknown) => {
      this.#logger.error({ err: error }, 'work of a channel failed');
    });
    this.#works.add(quiet);
    await quiet;
    this.#works.delete(quiet);
  }

  /** Everything that has begun so far has ended. */
  async ended(): Promise<void> {
    await Promise.all(this.#works);
  }
}
