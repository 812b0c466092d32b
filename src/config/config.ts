import type { ChannelIdentity } from '../channel/channel-kind.ts';
import type { NotifyMode } from '../channel/notify-mode.ts';
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
  /** How long a run may only wait before nothing but its rows is left of it. */
  readonly parkAfterMs: number;
  /** Of the runs that were parked or left behind, so many are at work in one process at the same time. */
  readonly resumeAtOnce: number;
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
  readonly notify: NotifyMode;
  /**
   * Channels that get a card once nobody could be reached in the others: every card was refused for good, or none stands
   * in a chat after `afterMs` (null: after `deliveryTimeoutMs`). None of them is one of the others.
   */
  readonly fallback: { readonly channels: readonly ChannelId[]; readonly afterMs: number | null } | null;
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
  /** Whether it is asked to answer piece by piece. */
  readonly stream: boolean;
}

export type ConnectorConfig = HttpConnectorConfig | McpConnectorConfig;

/** A system behind HTTP, whose tools this file describes. */
export interface HttpConnectorConfig {
  readonly id: string;
  readonly kind: 'http';
  readonly baseUrl: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly tools: readonly ConnectorToolConfig[];
}

/** A server that lists its own tools. Nothing that it says about them loosens anything. */
export interface McpConnectorConfig {
  readonly id: string;
  readonly kind: 'mcp';
  readonly server:
    | {
        readonly transport: 'stdio';
        /** The program and its arguments; no shell reads them. */
        readonly command: readonly [string, ...string[]];
        /** Beside a handful of harmless ones (`PATH`, `HOME`, …), all that the program gets. */
        readonly env: Readonly<Record<string, string>>;
        readonly cwd: string | null;
      }
    | {
        readonly transport: 'http';
        readonly url: string;
        readonly headers: Readonly<Record<string, string>>;
      };
  /** Globs over the server's own names of tools: asked about even where no policy matches. */
  readonly requiresConfirmation: readonly string[];
  /** The first whose name matches a tool says how it is treated. */
  readonly tools: readonly McpToolRule[];
}

export interface McpToolRule extends ToolTreatment {
  /** A glob over the server's own names of tools. */
  readonly name: string;
  /** Null: not said; then a tool that no policy covers is asked about. */
  readonly requiresConfirmation: boolean | null;
}

/** What the operator says about a tool, whoever describes it. */
export interface ToolTreatment {
  readonly card: {
    readonly amount: string | null;
    readonly currency: string | null;
    readonly payee: string | null;
    /** Further JSON Pointers that decide. */
    readonly decisive: readonly string[];
  };
  readonly writes: boolean;
  readonly idempotent: boolean;
  readonly timeoutMs: number;
}

export interface ConnectorToolConfig extends ToolTreatment {
  readonly name: string;
  readonly description: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  /** JSON Schema of the arguments. */
  readonly parameters: JsonObject;
  readonly requiresConfirmation: boolean;
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
  readonly limits: RunLimits;
}

/** What one run of an agent may use up; null: as much as it takes. */
export interface RunLimits {
  /** Answers of the model. */
  readonly turns: number;
  readonly toolCalls: number | null;
  /** From the start of the run, without what it waits for people. */
  readonly wallTimeMs: number | null;
  readonly tokens: number | null;
}

export interface HookDeclaration {
  readonly name: string;
  /** Checked by the hook kind's own schema. */
  readonly options: unknown;
}
