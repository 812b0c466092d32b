/** One figure beside its reference, both measured in one run on this machine. */
export interface BenchRow {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly reference: number | null;
  readonly referenceName: string | null;
  readonly ratio: number | null;
  readonly goal: string;
  /** Only where missing the goal fails the whole. */
  readonly met?: boolean;
}

/** The `fraction` quantile of what was measured; sorts a copy. */
export function quantile(values: readonly number[], fraction: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * fraction))] ?? Number.NaN;
}
