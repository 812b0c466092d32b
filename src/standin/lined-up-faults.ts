/** How a call that somebody waits for goes wrong. `no-answer`: it is carried out, and no answer ever comes. */
export const FAULT_KINDS = ['429', '500', 'no-answer', 'bad-token'] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

/** What a 429 asks for. */
export const RETRY_AFTER_SECONDS = 5;

export interface LinedUpFault {
  readonly kind: FaultKind;
  /** Null: whichever call comes next. */
  readonly call: string | null;
}

/** A fault that hit. */
export interface MetFault {
  readonly kind: FaultKind;
  readonly call: string;
  readonly atMs: number;
}

/** The page shows the latest of them. */
const KEPT = 20;

/** Faults that a person lines up while a platform is played; each hits one call, the oldest that fits first. */
export class LinedUpFaults {
  /** What a fault may be lined up for. */
  readonly calls: readonly string[];
  readonly #now: () => number;
  readonly #listeners = new Set<(met: MetFault | null) => void>();
  #waiting: readonly LinedUpFault[] = [];
  #met: readonly MetFault[] = [];

  constructor(calls: readonly string[], now: () => number) {
    this.calls = calls;
    this.#now = now;
  }

  waiting(): readonly LinedUpFault[] {
    return this.#waiting;
  }

  /** Oldest first. */
  met(): readonly MetFault[] {
    return this.#met;
  }

  add(fault: LinedUpFault): void {
    this.#waiting = [...this.#waiting, fault];
    this.#changed(null);
  }

  /** What goes wrong with this call, which is used up by it; null where nothing does. */
  take(call: string): FaultKind | null {
    const fault = this.#waiting.find((one) => one.call === null || one.call === call);
    if (fault === undefined) return null;
    this.#waiting = this.#waiting.filter((one) => one !== fault);
    const met = { kind: fault.kind, call, atMs: this.#now() };
    this.#met = [...this.#met, met].slice(-KEPT);
    this.#changed(met);
    return fault.kind;
  }

  /** Called with the fault that hit, or with null when one was lined up; the returned function ends it. */
  onChange(listener: (met: MetFault | null) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #changed(met: MetFault | null): void {
    for (const listener of this.#listeners) listener(met);
  }
}
