/**
 * Why a run's signal aborted. Cancelled: it ends now. Suspended: this process stops and another one goes on. Parked:
 * nobody works on it until what it waits for has ended.
 */
export type RunStopKind = 'cancelled' | 'suspended' | 'parked';

export class RunStop extends Error {
  readonly kind: RunStopKind;
  /** As the gate reads it (`Handover`): what it has stored by then is found by the next worker. */
  readonly handsOver: boolean;

  constructor(kind: RunStopKind) {
    super(`the run is ${kind}`);
    this.name = 'RunStop';
    this.kind = kind;
    this.handsOver = kind !== 'cancelled';
  }
}

/** Whether the run goes on later, from its rows. */
export const isSuspended = (signal: AbortSignal): boolean =>
  signal.aborted && signal.reason instanceof RunStop && signal.reason.kind !== 'cancelled';

export const isParked = (signal: AbortSignal): boolean =>
  signal.aborted && signal.reason instanceof RunStop && signal.reason.kind === 'parked';

/** Throws where this process lets go of the run: whatever is half done is taken up again from its rows. */
export function throwIfSuspended(signal: AbortSignal): void {
  if (isSuspended(signal)) throw signal.reason;
}
