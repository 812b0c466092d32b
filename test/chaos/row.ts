/** One fault of the table: what is tried, at which volume, and what came of it. */
export interface ChaosRow {
  readonly id: string;
  readonly title: string;
  /** Rounds by default and with `--full`. */
  readonly volume: { readonly usual: number; readonly full: number };
  run(context: ChaosContext): Promise<ChaosResult>;
}

export interface ChaosContext {
  readonly rounds: number;
  /** URL of a fresh, migrated database on a real PostgreSQL. */
  readonly databaseUrl: string;
}

export interface ChaosResult {
  readonly tried: number;
  /** Decisions or results that disappeared, happened twice, or were let in though they should not have been. */
  readonly lost: number;
  readonly doubled: number;
  readonly letIn: number;
  readonly note: string;
  /** Further findings, a line each, where the row has many. */
  readonly table?: readonly (readonly [string, string | number])[];
}

export const passed = (result: ChaosResult): boolean =>
  result.tried > 0 && result.lost === 0 && result.doubled === 0 && result.letIn === 0;
