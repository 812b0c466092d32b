/** Why a run's signal aborted. Cancelled: it ends now. Suspended: this process stops and another one goes on. */
export type RunStopKind = 'cancelled' | 'suspended';

export class RunStop extends Error {
  readonly kind: RunStopKind;

  constructor(kind: RunStopKind) {
    super(`the run is ${kind}`);
    this.name = 'RunStop';
    this.kind = kind;
  }
}

export const isSuspended = (signal: AbortSignal): boolean =>
  signal.aborted && signal.reason instanceof RunStop && signal.reason.kind === 'suspended';

/** Throws where the process is stopping: whatever is half done is taken up again from its rows. */
export function throwIfSuspended(signal: AbortSignal): void {
  if (isSuspended(signal)) throw signal.reason;
}
