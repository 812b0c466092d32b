import type { AuditRecorder, NewAuditEvent } from '../audit/audit-event.ts';

/** So many wait for their turn at most; a flood beyond that is counted, not written down one by one. */
const MOST_WAITING = 20;

/**
 * Puts refused callbacks on the record one at a time: whoever sends forgeries, from however many addresses, takes one
 * database connection and leaves the others to the honest. What found no room is counted in the next event.
 */
export class RefusalRecord {
  readonly #recorder: AuditRecorder;
  #last: Promise<void> = Promise.resolve();
  #waiting = 0;
  #unrecorded = 0;

  constructor(recorder: AuditRecorder) {
    this.#recorder = recorder;
  }

  /** Resolves once the event is written, or at once where there is no room. Rejects where the recorder does. */
  async record(event: NewAuditEvent): Promise<void> {
    if (this.#waiting >= MOST_WAITING) {
      this.#unrecorded += 1;
      return;
    }
    this.#waiting += 1;
    const turn = this.#last.then(() => this.#write(event));
    this.#last = turn.catch(() => {});
    try {
      await turn;
    } finally {
      this.#waiting -= 1;
    }
  }

  async #write(event: NewAuditEvent): Promise<void> {
    const unrecorded = this.#unrecorded;
    this.#unrecorded = 0;
    try {
      await this.#recorder.record(
        unrecorded === 0 ? event : { ...event, data: { ...event.data, unrecorded } },
      );
    } catch (error) {
      this.#unrecorded += unrecorded + 1;
      throw error;
    }
  }
}
