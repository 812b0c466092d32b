/** The shapes of the documented API, as a client would write them down. */

export interface PersonName {
  readonly id: string;
  readonly name: string;
}

export interface Confirmation {
  readonly id: string;
  readonly status: string;
  readonly tool: string;
  readonly args: Record<string, unknown>;
  readonly argsDigest: string;
  readonly verificationCode: string;
  readonly summary: string | null;
  readonly agent: string;
  readonly session: string | null;
  readonly callId: string | null;
  readonly requester: PersonName;
  readonly policy: { readonly id: string; readonly quorum: number };
  readonly approvers?: readonly PersonName[];
  readonly votes?: readonly {
    readonly person: PersonName;
    readonly verdict: string;
    readonly reason: string | null;
    readonly channel: string;
    readonly at: string;
  }[];
  readonly decision?: Record<string, unknown> | null;
  readonly createdAt: string;
  readonly decideBy: string;
  readonly decidedAt: string | null;
  readonly executeBy: string | null;
  readonly execution: { readonly status: string; readonly at: string | null; readonly detail: unknown };
  readonly deliveries: readonly Delivery[];
}

export interface Delivery {
  readonly channel: string;
  readonly state: string;
  readonly messageIds: readonly string[];
  readonly at: string | null;
  readonly error: unknown;
}

export interface Asked {
  readonly decision: 'allow' | 'pending' | 'deny';
  readonly args: unknown;
  readonly argsDigest: string;
  readonly confirmation: Confirmation;
  readonly error: { readonly code: string; readonly message: string };
}

export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly code: string;
  readonly detail?: string;
  readonly decision?: {
    readonly status: string;
    readonly by: unknown;
    readonly at: string;
    readonly reason: unknown;
  };
}

export interface Invocation {
  readonly id: string;
  readonly callId: string | null;
  readonly node: string | null;
  readonly tool: string;
  readonly args: unknown;
  readonly confirmation: string | null;
  readonly status: string;
  readonly result: unknown;
  readonly error: unknown;
}

export interface Run {
  readonly id: string;
  readonly agent: string;
  readonly executor: string;
  readonly status: string;
  readonly input: string;
  readonly output: unknown;
  readonly error: unknown;
  readonly session: string | null;
  readonly requester: PersonName;
  readonly parentRun: string | null;
  readonly childRuns: readonly string[];
  readonly invocations: readonly Invocation[];
  readonly createdAt: string;
  readonly finishedAt: string | null;
}

export interface AuditEvent {
  readonly seq: number;
  readonly id: string;
  readonly at: string;
  readonly kind: string;
  readonly confirmation: string | null;
  readonly run: string | null;
  readonly actor: { readonly type: string; readonly id: string; readonly name: string | null };
  readonly data: Record<string, unknown>;
  readonly prevHash: string | null;
  readonly hash: string;
}

export interface Page<T> {
  readonly items: readonly T[];
  readonly nextCursor: string | null;
}
