import { SYSTEM_ACTOR } from '../audit/audit-event.ts';
import type { Clock } from '../clock.ts';
import type { ConfirmationId } from '../ids.ts';
import { attendInside } from './attend.ts';
import type { Reach } from './card-places.ts';
import { lapseInside } from './claim.ts';
import { subjectOf } from './decision-event.ts';
import { expireInside } from './expire.ts';
import type { ConfirmationLedger } from './ledger.ts';

const SWEEP_INTERVAL_MS = 500;
const BATCH = 200;

/**
 * Brings to its end what time has overtaken: pending requests past their deadline, grants nobody used, claims whose
 * outcome nobody reported, cool-offs that cards still show, outcomes that people may settle by now. Any number of
 * replicas may sweep at once; each row is locked and checked again.
 */
export class Sweeper {
  readonly #ledger: ConfirmationLedger;
  readonly #reach: Reach;
  readonly #clock: Clock;
  readonly #onFailed: (error: unknown) => void;
  #cancelTimer: (() => void) | null = null;
  #sweeping: Promise<void> = Promise.resolve();
  #stopped = false;
  /** The rows that the last sweep could not move. */
  #stuck: ReadonlySet<ConfirmationId> = new Set();

  constructor(input: {
    readonly ledger: ConfirmationLedger;
    readonly reach: Reach;
    readonly clock: Clock;
    /** A sweep that failed, or one row of it, told once for as long as it does; the next one tries again. */
    readonly onFailed: (error: unknown) => void;
  }) {
    this.#ledger = input.ledger;
    this.#reach = input.reach;
    this.#clock = input.clock;
    this.#onFailed = input.onFailed;
  }

  start(): void {
    if (this.#stopped) return;
    this.#cancelTimer = this.#clock.setTimer(SWEEP_INTERVAL_MS, () => {
      this.#sweeping = this.sweep()
        .catch(this.#onFailed)
        .then(() => this.start());
    });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelTimer?.();
    await this.#sweeping;
  }

  /** One round; returns how many rows it moved. */
  async sweep(): Promise<number> {
    const due = await this.#ledger.due(BATCH);
    const stuck = new Set<ConfirmationId>();
    let moved = 0;
    // One row that cannot be moved, because somebody holds it or it is damaged, keeps none of the others waiting.
    const each = async (ids: readonly ConfirmationId[], move: (id: ConfirmationId) => Promise<void>) => {
      for (const id of ids) {
        try {
          await move(id);
          moved += 1;
        } catch (error) {
          if (!this.#stuck.has(id)) this.#onFailed(error);
          stuck.add(id);
        }
      }
    };
    await each(due.toExpire, (id) => this.#expire(id));
    await each(due.toAttend, (id) => this.#attend(id));
    await each(due.toLapse, (id) => this.#lapse(id));
    await each(due.toUnknown, (id) => this.#giveUpOnOutcome(id));
    await each(due.toOpen, (id) => this.#endCoolOff(id));
    await each(due.toSettle, (id) => this.#openSettlement(id));
    this.#stuck = stuck;
    return moved;
  }

  #expire(id: ConfirmationId): Promise<void> {
    return this.#ledger.transact(async (transaction) => {
      const locked = await transaction.lock(id);
      if (locked?.request.status === 'pending' && locked.late) await expireInside(transaction, id);
    });
  }

  #attend(id: ConfirmationId): Promise<void> {
    return this.#ledger.transact(async (transaction) => {
      const locked = await transaction.lock(id);
      if (locked?.request.status === 'pending' && !locked.late)
        await attendInside(transaction, locked.request, locked.now, this.#reach);
    });
  }

  #lapse(id: ConfirmationId): Promise<void> {
    return this.#ledger.transact(async (transaction) => {
      const locked = await transaction.lock(id);
      if (locked?.window === 'over') await lapseInside(transaction, locked.request);
    });
  }

  #endCoolOff(id: ConfirmationId): Promise<void> {
    return this.#ledger.transact(async (transaction) => {
      if (await transaction.lock(id)) await transaction.endCoolOff(id);
    });
  }

  #openSettlement(id: ConfirmationId): Promise<void> {
    return this.#ledger.transact(async (transaction) => {
      if (await transaction.lock(id)) await transaction.openSettlement(id);
    });
  }

  #giveUpOnOutcome(id: ConfirmationId): Promise<void> {
    return this.#ledger.transact(async (transaction) => {
      const locked = await transaction.lock(id);
      if (!locked) return;
      const { request } = locked;
      const moved = await transaction.moveExecution(id, {
        from: 'claimed',
        to: 'unknown',
        source: 'timeout',
        detail: null,
      });
      if (!moved) return;
      transaction.record({
        kind: 'outcome.recorded',
        ...subjectOf(request),
        actor: SYSTEM_ACTOR,
        data: { status: 'unknown', detail: null, argsDigest: request.argsDigest },
      });
    });
  }
}
