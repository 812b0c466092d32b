import type { Clock } from '../clock.ts';

const WINDOW_MS = 10_000;
/** Far more than any server has to say, far less than what keeps this process from its other work. */
const MOST_MESSAGES = 5_000;
const MOST_BYTES = 64 * 1024 * 1024;

/** Counts what one server sends, so that one that never stops can be cut off. */
export class McpFloodGauge {
  readonly #clock: Clock;
  #windowStartMs: number;
  #messages = 0;
  #bytes = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#windowStartMs = clock.monotonic();
  }

  /** False once more came within ten seconds than a server may send. */
  take(amount: { readonly messages?: number; readonly bytes?: number }): boolean {
    const nowMs = this.#clock.monotonic();
    if (nowMs - this.#windowStartMs >= WINDOW_MS) {
      this.#windowStartMs = nowMs;
      this.#messages = 0;
      this.#bytes = 0;
    }
    this.#messages += amount.messages ?? 0;
    this.#bytes += amount.bytes ?? 0;
    return this.#messages <= MOST_MESSAGES && this.#bytes <= MOST_BYTES;
  }
}
