import type { ConfigFault } from './config-fault.ts';
import type { FaultCollector } from './fault-collector.ts';
import { lintConditions } from './lint-conditions.ts';
import { lintCoverage } from './lint-coverage.ts';
import { lintFloor } from './lint-floor.ts';
import { lintReach } from './lint-reach.ts';
import { lintShadows } from './lint-shadows.ts';
import { type CheckedConfig, type ConfigInput, readChecked } from './read-checked.ts';

export type LintedConfig =
  /** In the order of the file; what the start warns of is not repeated. */
  | {
      readonly kind: 'linted';
      readonly findings: readonly ConfigFault[];
      readonly warnings: readonly ConfigFault[];
    }
  | { readonly kind: 'faulty'; readonly faults: readonly ConfigFault[] };

/** One rule of the lint: puts what it finds into `findings`, each with the way out. */
export type Lint = (config: CheckedConfig, findings: FaultCollector) => void;

const LINTS: readonly Lint[] = [lintConditions, lintShadows, lintCoverage, lintReach, lintFloor];

/** Policies that are well-formed and still do nothing, or not what they seem to. */
export function lintConfig(input: ConfigInput): LintedConfig {
  const checked = readChecked(input);
  if (checked.kind === 'faulty') return checked;
  const findings = checked.collector.beside();
  for (const lint of LINTS) lint(checked, findings);
  return { kind: 'linted', findings: findings.warnings, warnings: checked.collector.warnings };
}
