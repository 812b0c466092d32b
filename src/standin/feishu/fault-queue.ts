import type { JsonObject } from '../../json.ts';

/** The calls that a fault can be planned for. */
export type StandinOperation = 'token' | 'create' | 'patch' | 'reply' | 'member' | 'endpoint';

/** How one call goes wrong. `carriedOut` says whether the platform did it all the same. */
export type StandinFault =
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly body: unknown;
      readonly headers?: Readonly<Record<string, string>>;
      readonly carriedOut?: boolean;
    }
  /** The connection is cut instead of an answer. */
  | { readonly kind: 'cut'; readonly carriedOut: boolean }
  /** No answer ever comes. */
  | { readonly kind: 'silence'; readonly carriedOut: boolean };

/** Asked about each call for which nothing is planned: what goes wrong with it, or null. `body` is what it says. */
export type FaultPlan = (operation: StandinOperation, body: JsonObject) => StandinFault | null;

/** Faults planned per operation; each is used once, in the order given. */
export class FaultQueue {
  readonly #planned: { readonly operation: StandinOperation; readonly fault: StandinFault }[] = [];
  #plan: FaultPlan = () => null;

  next(operation: StandinOperation, ...faults: readonly StandinFault[]): void {
    for (const fault of faults) this.#planned.push({ operation, fault });
  }

  /** From now on; takes the place of the plan before. */
  follow(plan: FaultPlan): void {
    this.#plan = plan;
  }

  take(operation: StandinOperation, body: JsonObject): StandinFault | null {
    const index = this.#planned.findIndex((planned) => planned.operation === operation);
    return this.#planned.splice(index, index < 0 ? 0 : 1)[0]?.fault ?? this.#plan(operation, body);
  }
}
