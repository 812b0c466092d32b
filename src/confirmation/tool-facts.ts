import type { DecisiveField } from './confirmation-request.ts';

/** What the core has to know of tools; the agent's catalogue implements it. */
export interface ToolFacts {
  /** SHA-256 of the tool's definition as it stands now; null for an external tool, undefined for one that is gone. */
  versionOf(tool: string): string | null | undefined;
  /** Whether nobody can say now: the tool's server has listed none yet. `versionOf` is undefined then, too. */
  isUnlisted(tool: string): boolean;
  /** Of a connector's tool, how long one attempt may take in milliseconds; null for an external tool. */
  timeoutMsOf(tool: string): number | null;
  /** Whether running it again under the same `Idempotency-Key` is declared harmless; false for an external tool. */
  isIdempotent(tool: string): boolean;
  /** The fields that the tool's configuration calls decisive; empty where it says nothing. */
  decisiveFieldsOf(tool: string): readonly DecisiveField[];
}
