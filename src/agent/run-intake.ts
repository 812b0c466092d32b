import { type Clock, sleep } from '../clock.ts';
import type { AgentLogger } from './invoke-ports.ts';
import type { RunLease } from './run-store.ts';

/** However many notifications come, runs are looked for no more often than this. */
const LOOK_INTERVAL_MS = 20;

/** `woken`: parked until now. `abandoned`: open, and no living process works on them. */
export type IntakeKind = 'woken' | 'abandoned';

export interface RunIntakePorts {
  /** For how many of them there is a place now. */
  room(): number;
  readonly clock: Clock;
  readonly logger: AgentLogger;
  /** Leases up to `limit` of them to this process, the longest waiting first. */
  take(kind: IntakeKind, limit: number): Promise<readonly RunLease[]>;
  /** Goes on with it, in one of the places. */
  begin(lease: RunLease): void;
}

/**
 * What a process takes up of the runs that wait for any process. However many there are at once, it holds no more
 * than it has room for; the others stay rows, which any process may take, until there is room again.
 */
export class RunIntake {
  readonly #ports: RunIntakePorts;
  readonly #due = new Set<IntakeKind>();
  #looking: Promise<void> | null = null;
  #stopped = false;

  constructor(ports: RunIntakePorts) {
    this.#ports = ports;
  }

  /** There may be some: takes them up soon. Any number of calls are one look. */
  look(kind: IntakeKind): void {
    this.#due.add(kind);
    this.goOn();
  }

  /** Takes up what there is room for, now. Throws where the database cannot be asked. */
  async lookNow(kind: IntakeKind): Promise<void> {
    const room = this.#ports.room();
    if (room === 0 || (await this.#take(kind, room)) === room) this.look(kind);
  }

  /** Nothing is taken up from here on; resolves once that is so. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#looking;
  }

  /** There is room again. */
  goOn(): void {
    if (this.#stopped || this.#looking !== null || this.#due.size === 0 || this.#ports.room() === 0) return;
    this.#looking = this.#lookOnce().finally(() => {
      this.#looking = null;
      this.goOn();
    });
  }

  async #lookOnce(): Promise<void> {
    const kinds = [...this.#due];
    this.#due.clear();
    for (const kind of kinds) {
      try {
        await this.lookNow(kind);
      } catch (error) {
        this.#ports.logger.warn({ err: error, kind }, 'runs cannot be taken up; the next round does');
      }
    }
    // What comes meanwhile, or is over meanwhile, is one look.
    await sleep(this.#ports.clock, LOOK_INTERVAL_MS);
  }

  async #take(kind: IntakeKind, limit: number): Promise<number> {
    const leases = await this.#ports.take(kind, limit);
    for (const lease of leases) this.#ports.begin(lease);
    return leases.length;
  }
}
