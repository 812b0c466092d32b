import type { Clock } from '../clock.ts';
import { Rounds } from '../rounds.ts';
import type { AgentLogger } from './invoke-ports.ts';
import type { RunLease } from './run-store.ts';

/** `woken`: parked until now. `abandoned`: open, and no living process works on them. */
export type IntakeKind = 'woken' | 'abandoned';

export interface RunIntakePorts {
  /** For how many of them there is a place now. */
  room(): number;
  /** However many notifications come, they are looked for no more often than this. */
  restMs(): number;
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
  readonly #rounds: Rounds;

  constructor(ports: RunIntakePorts) {
    this.#ports = ports;
    const round = () => this.#takeUpWhatIsDue();
    this.#rounds = new Rounds({ clock: ports.clock, restMs: () => ports.restMs(), round });
  }

  /** There may be some: takes them up soon. Any number of calls are one look. */
  look(kind: IntakeKind): void {
    this.#due.add(kind);
    this.goOn();
  }

  /** There is room again. */
  goOn(): void {
    if (this.#due.size > 0 && this.#ports.room() > 0) this.#rounds.call();
  }

  /** Takes up what there is room for, now; what there was none for comes later. Throws where nobody can be asked. */
  async lookNow(kind: IntakeKind): Promise<void> {
    const room = this.#ports.room();
    const leases = room === 0 ? [] : await this.#ports.take(kind, room);
    for (const lease of leases) this.#ports.begin(lease);
    if (leases.length === room) this.look(kind);
  }

  /** Nothing is taken up from here on; resolves once that is so. */
  stop(): Promise<void> {
    return this.#rounds.stop();
  }

  async #takeUpWhatIsDue(): Promise<void> {
    const kinds = [...this.#due];
    this.#due.clear();
    for (const kind of kinds) {
      try {
        await this.lookNow(kind);
      } catch (error) {
        this.#ports.logger.warn({ err: error, kind }, 'runs cannot be taken up; the next round does');
      }
    }
  }
}
