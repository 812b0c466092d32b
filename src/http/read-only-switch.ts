import type { AuditActor } from '../audit/audit-event.ts';

/** The switch that stops every writing tool, of the whole organization or of one connector. */
export interface ReadOnlySwitch {
  get(): Promise<ReadOnlyState>;
  /** Sets it with its audit event in one transaction, and returns the new state. Repeating it changes nothing. */
  set(change: ReadOnlyChange): Promise<ReadOnlyState>;
}

export interface ReadOnlyState {
  readonly organization: boolean;
  /** Ids of the connectors that are switched to read-only by themselves. */
  readonly connectors: readonly string[];
}

export interface ReadOnlyChange {
  readonly scope: { readonly kind: 'organization' } | { readonly kind: 'connector'; readonly id: string };
  readonly readOnly: boolean;
  readonly actor: AuditActor;
}
