/**
 * How many runs are at work in this process at the same time, of those that waited before. After a decision about ten
 * thousand at once, the others stand in line with nothing in hand: in memory where they waited in memory, as rows
 * where they were parked. A run that was just started needs no place until it has waited.
 */
export class WorkPlaces {
  readonly #atOnce: () => number;
  readonly #onFree: () => void;
  readonly #line = new Set<WorkPlace>();
  #taken = 0;

  /** `atOnce` may change at any time, but is never below 1: each run that leaves makes the new number felt. */
  constructor(input: { readonly atOnce: () => number; readonly onFree: () => void }) {
    this.#atOnce = input.atOnce;
    this.#onFree = input.onFree;
  }

  /** Places for runs that are rows; those that stand in line here come first. */
  get free(): number {
    return Math.max(0, this.#atOnce() - this.#taken - this.#line.size);
  }

  /** For a run that stops when `signal` aborts; `taken`: it is at work from here on, in one of the free places. */
  open({ taken, signal }: { readonly taken: boolean; readonly signal: AbortSignal }): WorkPlace {
    if (taken) this.#taken += 1;
    return new WorkPlace({
      taken,
      signal,
      tryToTake: (place) => {
        const taken = this.#taken < this.#atOnce();
        if (taken) this.#taken += 1;
        else this.#line.add(place);
        return taken;
      },
      giveBack: (place) => {
        if (!this.#line.delete(place)) this.#taken -= 1;
        this.#letIn();
      },
    });
  }

  #letIn(): void {
    for (const place of this.#line) {
      if (this.#taken >= this.#atOnce()) return;
      this.#line.delete(place);
      this.#taken += 1;
      place.letIn();
    }
    if (this.free > 0) this.#onFree();
  }
}

/** One run's place among those at work. */
export class WorkPlace {
  readonly #signal: AbortSignal;
  readonly #tryToTake: (place: WorkPlace) => boolean;
  readonly #giveBack: (place: WorkPlace) => void;
  #state: 'at work' | 'in line' | 'away';
  #goOn: () => void = () => {};

  constructor(input: {
    readonly taken: boolean;
    readonly signal: AbortSignal;
    tryToTake(place: WorkPlace): boolean;
    giveBack(place: WorkPlace): void;
  }) {
    this.#state = input.taken ? 'at work' : 'away';
    this.#signal = input.signal;
    this.#tryToTake = input.tryToTake;
    this.#giveBack = input.giveBack;
  }

  /** The run only waits now, or is over. */
  leave(): void {
    if (this.#state === 'away') return;
    this.#state = 'away';
    this.#giveBack(this);
    this.#goOn();
  }

  /** It has something to do again: resolves once there is a place for it, or it has to stop and needs none. */
  async enter(): Promise<void> {
    if (this.#state !== 'away' || this.#signal.aborted) return;
    if (this.#tryToTake(this)) {
      this.#state = 'at work';
      return;
    }
    this.#state = 'in line';
    const leave = () => this.leave();
    this.#signal.addEventListener('abort', leave, { once: true });
    await new Promise<void>((resolve) => {
      this.#goOn = resolve;
    });
    this.#signal.removeEventListener('abort', leave);
  }

  letIn(): void {
    this.#state = 'at work';
    this.#goOn();
  }
}
