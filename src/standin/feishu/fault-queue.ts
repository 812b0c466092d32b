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

/** Faults planned per operation; each is used once, in the order given. */
export class FaultQueue {
  readonly #planned: { readonly operation: StandinOperation; readonly fault: StandinFault }[] = [];

  next(operation: StandinOperation, ...faults: readonly StandinFault[]): void {
    for (const fault of faults) this.#planned.push({ operation, fault });
  }

  take(operation: StandinOperation): StandinFault | null {
    const index = this.#planned.findIndex((planned) => planned.operation === operation);
    return index < 0 ? null : (this.#planned.splice(index, 1)[0]?.fault ?? null);
  }
}
