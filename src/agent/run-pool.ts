import { setMaxListeners } from 'node:events';
import type { Clock } from '../clock.ts';
import type { RunId } from '../ids.ts';
import { failedRun } from './executor.ts';
import type { AgentLogger } from './invoke-ports.ts';
import { RunIntake } from './run-intake.ts';
import { LeaseLost, type RunEnd, type RunRecord } from './run-record.ts';
import { isParked, RunStop } from './run-stop.ts';
import type { RunLease, RunSignals, RunStore } from './run-store.ts';
import { type WorkPlace, WorkPlaces } from './work-places.ts';

/** How often a process looks for runs to stop and for runs that nobody works on, in milliseconds. */
const TICK_MS = 1_500;
const HEARTBEAT_MS = 4_000;
/** Without a heartbeat for so long, a process counts as dead. */
const LEASE_MS = 15_000;
/** After an outage of the database every process that lives has renewed its lease within this time. */
const RENEWED_WITHIN_MS = 10_000;
/** A run that met so many faults fails in words instead of being taken up again. */
const MAX_FAULTS = 5;
/** How long calls that are being sent may take to end when the process stops. */
const DRAIN_MS = 20_000;

/** Works on a run to its end; leaves its place while the run only waits. */
export type WorkOnRun = (record: RunRecord, stop: AbortController, place: WorkPlace) => Promise<RunEnd>;

/** How many runs may be at work at the same time, and how long rows that wait for it are left between two looks. */
export interface Resuming {
  readonly atOnce: number;
  readonly restMs: number;
}

interface ActiveRun {
  readonly stop: AbortController;
  readonly done: Promise<void>;
}

/** The runs that this process works on: keeps their lease, takes over those of dead processes, stops them. */
export class RunPool {
  readonly #owner: string;
  readonly #store: RunStore;
  readonly #signals: RunSignals;
  readonly #clock: Clock;
  readonly #logger: AgentLogger;
  readonly #work: WorkOnRun;
  readonly #abandon: (record: RunRecord) => Promise<void>;
  /** Nobody else can have the database open: every other process is dead. */
  readonly #exclusive: boolean;
  readonly #active = new Map<RunId, ActiveRun>();
  /** Runs that could not be given back: tried again at every tick. */
  readonly #toRelease = new Map<RunId, RunRecord>();
  #stopping = false;
  #lastHeartbeatMs = Number.NEGATIVE_INFINITY;
  /** Since when no heartbeat of this process has been late. */
  #steadySinceMs = Number.POSITIVE_INFINITY;
  #cancelTick: () => void = () => {};
  #ticking: Promise<void> = Promise.resolve();
  #unsubscribe: (() => void)[] = [];
  readonly #places: WorkPlaces;
  readonly #intake: RunIntake;

  constructor(input: {
    readonly owner: string;
    readonly store: RunStore;
    readonly signals: RunSignals;
    readonly clock: Clock;
    readonly logger: AgentLogger;
    readonly exclusive: boolean;
    readonly work: WorkOnRun;
    /** How the runs that have waited, or were left by others, go on here; asked again each time. */
    readonly resuming: () => Resuming;
    /** Brings the open calls of a run that will not go on to their ends. */
    readonly abandon: (record: RunRecord) => Promise<void>;
  }) {
    this.#owner = input.owner;
    this.#store = input.store;
    this.#signals = input.signals;
    this.#clock = input.clock;
    this.#logger = input.logger;
    this.#exclusive = input.exclusive;
    this.#work = input.work;
    this.#abandon = input.abandon;
    const { owner, store } = input;
    this.#intake = new RunIntake({
      room: () => this.#places.free,
      restMs: () => input.resuming().restMs,
      clock: input.clock,
      logger: input.logger,
      take: (kind, limit) =>
        kind === 'woken'
          ? store.takeWoken({ owner, limit })
          : store.takeOver({
              ...{ owner, limit, lapsed: this.#isSteady() },
              working: [...this.#active.keys(), ...this.#toRelease.keys()],
            }),
      begin: (lease) => this.#begin(lease, { placeTaken: true }),
    });
    this.#places = new WorkPlaces({
      atOnce: () => input.resuming().atOnce,
      onFree: () => this.#intake.goOn(),
    });
  }

  get owner(): string {
    return this.#owner;
  }

  /** How many runs this process works on, for the metrics. */
  get size(): number {
    return this.#active.size;
  }

  /** Takes up what dead processes left, and goes on looking. Throws when the database cannot be reached. */
  async start(): Promise<void> {
    this.#unsubscribe = [
      this.#signals.onConfirmation(() => this.lookForWoken()),
      this.#signals.onReconnect(() => this.lookForWoken()),
      this.#signals.onCancel((run) => {
        if (this.#active.has(run)) void this.#stopUnwanted().catch(() => {});
      }),
    ];
    await this.#heartbeat();
    if (this.#exclusive) await this.#store.endOtherLeases(this.#owner);
    await this.#intake.lookNow('abandoned');
    this.#scheduleTick();
  }

  /**
   * Stops taking work and gives the runs back as they stand: waits are left, calls that are being sent come to their
   * end first. What does not end in time is left to its rows.
   */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#cancelTick();
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    await Promise.all([this.#ticking, this.#intake.stop()]);
    const running = [...this.#active.values()];
    for (const { stop } of running) stop.abort(new RunStop('suspended'));
    let cancelTimer = () => {};
    const late = new Promise<void>((resolve) => {
      cancelTimer = this.#clock.setTimer(DRAIN_MS, resolve);
    });
    await Promise.race([Promise.all(running.map(({ done }) => done)), late]);
    cancelTimer();
    await this.#store
      .endLease(this.#owner)
      .catch((error: unknown) =>
        this.#logger.warn({ err: error }, 'the lease of this process stays to its end'),
      );
  }

  /** Begins to work on a run that this process has just started. */
  begin(lease: RunLease): void {
    this.#begin(lease, { placeTaken: false });
  }

  #begin(lease: RunLease, { placeTaken }: { readonly placeTaken: boolean }): void {
    const earlier = this.#active.get(lease.run);
    if (earlier) {
      // Given back a moment ago and taken again before its last lines ran.
      void earlier.done.then(() => this.#begin(lease, { placeTaken }));
      return;
    }
    const stop = new AbortController();
    // Each call that waits listens, and a turn may hold many.
    setMaxListeners(0, stop.signal);
    if (this.#stopping) stop.abort(new RunStop('suspended'));
    // Whoever cancelled it may be another process, whose word comes later or never.
    const record = this.#store.record(lease, () => stop.abort(new RunStop('cancelled')));
    const place = this.#places.open({ taken: placeTaken, signal: stop.signal });
    const done = this.#workOn(record, stop, place).finally(() => {
      this.#active.delete(lease.run);
      place.leave();
    });
    this.#active.set(lease.run, { stop, done });
  }

  /** Stops a run where this process works on it; elsewhere, its own process sees the request. */
  cancelLocal(run: RunId): void {
    this.#active.get(run)?.stop.abort(new RunStop('cancelled'));
  }

  /** A parked run may have been woken: takes it up soon. Any number of calls are one look. */
  lookForWoken(): void {
    this.#intake.look('woken');
  }

  async #workOn(record: RunRecord, stop: AbortController, place: WorkPlace): Promise<void> {
    try {
      await this.#finish(record, await this.#work(record, stop, place));
    } catch (error) {
      await this.#leave(record, stop, error);
    }
  }

  /** A run that did not come to its end here. Never throws: nobody waits for it. */
  async #leave(record: RunRecord, stop: AbortController, error: unknown): Promise<void> {
    if (error instanceof LeaseLost || isParked(stop.signal)) return;
    try {
      if (error instanceof RunStop && error.kind === 'cancelled') {
        await this.#finish(record, { status: 'cancelled', output: null, error: null });
        return;
      }
      if (error instanceof RunStop && this.#stopping) {
        await record.release({ fault: false });
        return;
      }
      this.#logger.error({ err: error, run: record.run, reason: stop.signal.reason }, 'a run met a fault');
      await this.#giveUpAfterFaults(record);
    } catch (fault) {
      if (fault instanceof LeaseLost) return;
      this.#logger.error({ err: fault, run: record.run }, 'a run cannot be given back yet');
      this.#toRelease.set(record.run, record);
    }
  }

  async #giveUpAfterFaults(record: RunRecord): Promise<void> {
    if ((await record.faults()) + 1 < MAX_FAULTS) {
      await record.release({ fault: true });
      return;
    }
    await this.#abandon(record);
    await this.#finish(
      record,
      failedRun('interrupted', `The service met a fault ${MAX_FAULTS} times while it worked on this run.`),
    );
  }

  async #finish(record: RunRecord, end: RunEnd): Promise<void> {
    const parent = await record.finish(end);
    if (parent !== null) this.lookForWoken();
  }

  #scheduleTick(): void {
    this.#cancelTick = this.#clock.setTimer(TICK_MS, () => {
      this.#ticking = this.#tick().finally(() => {
        if (!this.#stopping) this.#scheduleTick();
      });
    });
  }

  async #tick(): Promise<void> {
    try {
      if (this.#clock.monotonic() - this.#lastHeartbeatMs >= HEARTBEAT_MS) await this.#heartbeat();
      await this.#stopUnwanted();
      for (const [run, record] of this.#toRelease) {
        await record.release({ fault: true });
        this.#toRelease.delete(run);
      }
      this.#intake.look('abandoned');
      this.#intake.look('woken');
    } catch (error) {
      this.#logger.warn({ err: error }, 'the runs cannot be looked after; trying again');
    }
  }

  async #stopUnwanted(): Promise<void> {
    for (const run of await this.#store.cancelRequestedOf(this.#owner)) this.cancelLocal(run);
  }

  async #heartbeat(): Promise<void> {
    await this.#store.heartbeat({ owner: this.#owner, leaseMs: LEASE_MS });
    const now = this.#clock.monotonic();
    if (now - this.#lastHeartbeatMs > 2 * HEARTBEAT_MS) this.#steadySinceMs = now;
    this.#lastHeartbeatMs = now;
  }

  /**
   * Whether a lease that lapsed says that its process is dead. Where the database was away, everybody's has lapsed: then
   * those who live are given the time to say so first, or their calls would be taken from them on the way.
   */
  #isSteady(): boolean {
    return this.#clock.monotonic() - this.#steadySinceMs >= RENEWED_WITHIN_MS;
  }
}
