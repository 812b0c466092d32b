import type { Clock } from '../clock.ts';
import type { PersonId } from '../ids.ts';
import type { Locale } from '../locale.ts';

/** What hooks may reach beyond their context, handed in by the composition root. A hook never imports the database. */
export interface HookPorts {
  readonly clock: Clock;
  readonly locale: Locale;
  readonly timeZone: string;
  readonly people: PeoplePort;
  readonly readOnly: ReadOnlyPort;
  readonly rateLimit: RateLimitPort;
  readonly connectorLog: ConnectorLogPort;
}

export interface PeoplePort {
  /** The person's display name; null for an unknown id. */
  nameOf(id: PersonId): string | null;
}

export interface ReadOnlyPort {
  /** Whether writing through this connector (null: an external tool) is switched off now. Throws when unknown. */
  isReadOnly(connector: string | null): Promise<boolean>;
}

export interface RateLimitPort {
  /**
   * Counts one call under `key` in a window of `windowMs`, across all replicas. `allowed: false` counts nothing and
   * says after how many seconds a call is allowed again. Throws when the count cannot be kept.
   */
  take(input: {
    readonly key: string;
    readonly limit: number;
    readonly windowMs: number;
  }): Promise<{ readonly allowed: true } | { readonly allowed: false; readonly retryAfterSeconds: number }>;
}

export interface ConnectorLogPort {
  write(entry: ConnectorLogEntry): Promise<void>;
}

/** One line of the operators' log of connector calls. Holds no argument and no secret. */
export interface ConnectorLogEntry {
  readonly organization: string;
  readonly connector: string | null;
  readonly tool: string;
  readonly agent: string;
  readonly person: string | null;
  readonly session: string | null;
  readonly run: string | null;
  readonly status: string;
  readonly code: string | null;
  readonly durationMs: number | null;
  readonly argsDigest: string | null;
  readonly confirmation: string | null;
}
