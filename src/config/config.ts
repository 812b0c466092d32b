import type { ChannelIdentity } from '../channel/channel-kind.ts';
import type { AgentId, ApiKeyId, ChannelId, PersonId } from '../ids.ts';
import type { JsonObject } from '../json.ts';
import type { Locale } from '../locale.ts';
import type { ReasonMode } from '../verdict.ts';

/** A configuration that was read, checked as a whole and found right. Durations are milliseconds. */
export interface Config {
  readonly organization: string;
  readonly listen: ListenAddress;
  /** Moves `/metrics` and `/readyz` to a listener of their own; null: they stay with the rest. */
  readonly operations: ListenAddress | null;
  /** Base of the links on cards, without a trailing slash; null: the listen address. */
  readonly publicUrl: string | null;
  /** `postgres://…`; null: the embedded database under `dataDir`. */
  readonly database: string | null;
  /** The owner's URL for migrations where the serving role is another; null: `database`. */
  readonly migrationDatabase: string | null;
  readonly dataDir: string;
  readonly locale: Locale;
  readonly timeZone: string;
  readonly trustProxy: readonly string[];
  readonly apiKeys: readonly ApiKeyConfig[];
  readonly people: readonly PersonConfig[];
  readonly channels: readonly ChannelConfig[];
  readonly policies: readonly PolicyConfig[];
  readonly defaultPolicy: PolicyRule | null;
  /** What nothing may decide below, whatever policy matches; null: there is none. */
  readonly floor: FloorConfig | null;
  readonly models: Readonly<Record<string, ModelConfig>>;
  readonly externalTools: readonly string[];
  /** Arguments that nobody is shown: globs over JSON Pointers (`/card/*`) or over names of keys. */
  readonly masked: readonly string[];
  readonly connectors: readonly ConnectorConfig[];
  readonly agents: readonly AgentConfig[];
  /** Digest of everything above without its secrets; frozen into each request. */
  readonly revision: string;
}

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

export const API_ROLES = ['agent', 'operator', 'auditor', 'admin'] as const;
export type ApiRole = (typeof API_ROLES)[number];
export const PERSON_ROLES = ['operator', 'auditor', 'admin'] as const;
export type PersonRole = (typeof PERSON_ROLES)[number];

export interface ApiKeyConfig {
  readonly id: ApiKeyId;
  readonly key: string;
  readonly role: ApiRole;
  /** Agents this key may speak for; `*` globs. */
  readonly agents: readonly string[];
  /** People this key may name as requester; `*` globs. */
  readonly requesters: readonly string[];
}

export interface PersonConfig {
  readonly id: PersonId;
  readonly name: string;
  readonly active: boolean;
  readonly groups: readonly string[];
  readonly roles: readonly PersonRole[];
  /** Signs in to the pages and the API as this person; null: chat only. */
  readonly consoleKey: string | null;
  /** One entry per provider (`slack`, `feishu`, …). */
  readonly identities: readonly ChannelIdentity[];
  readonly away: AbsenceConfig | null;
}

/** A time in which a person is not counted on. */
export interface AbsenceConfig {
  /** The first moment; null: since ever. */
  readonly from: Date | null;
  /** The first moment after it; null: until further notice. */
  readonly until: Date | null;
  /** Takes the person's seat meanwhile, in their own name; null: nobody does. */
  readonly delegate: PersonId | null;
}

export interface ChannelConfig {
  readonly id: ChannelId;
  readonly kind: string;
  /** Checked by the channel kind's own schema. */
  readonly settings: unknown;
}

/** The rule of a policy, people and channels resolved. */
export interface PolicyRule {
  readonly approvers: readonly PersonId[];
  /** What the file says in the place of `approvers`, entry by entry, with everybody it means, active or not. */
  readonly named: readonly NamedApprovers[];
  readonly quorum: number;
  readonly allowSelfApproval: boolean;
  readonly channels: readonly ChannelId[];
  readonly decideWithinMs: number;
  readonly executeWithinMs: number;
  readonly outcomeWithinMs: number;
  readonly deliveryTimeoutMs: number;
  readonly reason: ReasonMode;
  /** Reminds people of an open request once this old; null: never. */
  readonly remindAfterMs: number | null;
  /** Who is asked as well once a request has been open for `afterMs`; none of them is an approver already. */
  readonly escalation: { readonly afterMs: number; readonly to: readonly PersonId[] } | null;
  /** Between approval and the first moment of the claim. */
  readonly coolOffMs: number;
  /** CEL text, already type-checked: the id of one person who may not approve, or a list of them; null: nobody more. */
  readonly excluded: string | null;
}

export interface NamedApprovers {
  /** `group:finance` or `person:li.wei`. */
  readonly by: string;
  readonly people: readonly PersonId[];
}

export interface PolicyConfig extends PolicyRule {
  readonly id: string;
  readonly tools: readonly string[];
  /** CEL text, already type-checked; null: always. */
  readonly when: string | null;
}

export interface FloorConfig extends PolicyConfig {
  /** What the file states of these; null: it does not, and other policies are not shortened. */
  readonly limits: { readonly decideWithinMs: number | null; readonly executeWithinMs: number | null };
}

export interface ModelConfig {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly model: string;
}

/** An HTTP connector. MCP connectors are named in the contract and refused at start until they are built. */
export interface ConnectorConfig {
  readonly id: string;
  readonly kind: 'http';
  readonly baseUrl: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly tools: readonly ConnectorToolConfig[];
}

export interface ConnectorToolConfig {
  readonly name: string;
  readonly description: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  /** JSON Schema of the arguments. */
  readonly parameters: JsonObject;
  readonly card: {
    readonly amount: string | null;
    readonly currency: string | null;
    readonly payee: string | null;
    /** Further JSON Pointers that decide. */
    readonly decisive: readonly string[];
  };
  readonly writes: boolean;
  readonly idempotent: boolean;
  readonly requiresConfirmation: boolean;
  readonly timeoutMs: number;
}

export interface AgentConfig {
  readonly id: AgentId;
  /** Key into `models`; null for an agent that lives outside and only asks. */
  readonly model: string | null;
  readonly owner: PersonId | null;
  readonly executor: 'react' | 'dag';
  readonly instructions: string;
  /** `*` globs over full tool names. */
  readonly tools: readonly string[];
  readonly delegates: readonly AgentId[];
  readonly hooks: readonly HookDeclaration[];
  readonly requireConfirmationForAll: boolean;
  readonly maxTurns: number;
}

export interface HookDeclaration {
  readonly name: string;
  /** Checked by the hook kind's own schema. */
  readonly options: unknown;
}
