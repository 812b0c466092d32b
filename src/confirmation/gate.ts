import type { BlockCode } from '../errors.ts';
import type { HookContext } from '../hook/hook-context.ts';
import type { ConfirmationId } from '../ids.ts';

/**
 * What the confirmation gate hook asks of the core. `ask` decides by policy whether this call, with exactly these
 * arguments, needs a person, and if so stores the request with its audit event and its deliveries in one
 * transaction. It never waits for a person. A throw means the gate cannot be asked: the call must not run.
 */
export interface ConfirmationGate {
  ask(call: GatedCall): Promise<GateAnswer>;
}

export interface GatedCall {
  /** The call with its final arguments; `metadata` carries what an outside agent sent along. */
  readonly context: HookContext;
  /** The agent is configured with `requireConfirmationForAll`. */
  readonly confirmationForAll: boolean;
  /**
   * Aborts when nobody waits for the answer any more: then no request is stored, or the stored one is withdrawn. But
   * where the reason is a `Handover`: whoever takes the call up finds what was stored.
   */
  readonly signal: AbortSignal;
}

/** Why a signal aborts, where this process lets go of a call and another one goes on with it. */
export interface Handover {
  readonly handsOver: true;
}

export const isHandover = (signal: AbortSignal): boolean =>
  signal.aborted && (signal.reason as Partial<Handover> | null | undefined)?.handsOver === true;

export type GateAnswer =
  | { readonly kind: 'not-needed' }
  /** Evaluation run: it would have been asked about. */
  | { readonly kind: 'stubbed' }
  | { readonly kind: 'pending'; readonly confirmationId: ConfirmationId }
  | {
      readonly kind: 'denied';
      readonly code: BlockCode;
      readonly message: string;
      /** Where a request was stored and ended at once (`undeliverable`). */
      readonly confirmationId: ConfirmationId | null;
    };

/** What is told of a call that is refused without asking: the same, to the letter, was rejected in the same run. */
export const REJECTED_BEFORE =
  'A person rejected exactly this call earlier in this run, so nobody was asked again. It was not executed. Do not try to reach the same effect in another way.';
