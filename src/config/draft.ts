import { z } from 'zod';
import type { AnyChannelKind } from '../channel/channel-kind.ts';
import { channelId } from '../ids.ts';
import { type AgentEntry, agentSchema } from './agents-section.ts';
import { apiKeySchema } from './api-keys-section.ts';
import type { ApiKeyConfig, ChannelConfig, ConnectorConfig, ModelConfig } from './config.ts';
import type { ConfigPath } from './config-fault.ts';
import { httpConnectorSchema, mcpConnectorSchema } from './connectors-section.ts';
import { type DeclaredNames, declaredNames } from './declared-names.ts';
import { modelSchema } from './models-section.ts';
import { type PersonEntry, personSchema } from './people-section.ts';
import {
  type FloorEntry,
  floorSchema,
  type PolicyEntry,
  policySchema,
  type RuleEntry,
  ruleSchema,
} from './policies-section.ts';
import { checkShape, nearest } from './schema-faults.ts';
import { type ServerSection, serverSection } from './server-section.ts';
import { id } from './settings.ts';
import type { YamlSource } from './yaml-source.ts';

/** A well-formed part of the file, and where it stands. */
export interface Entry<Value> {
  readonly path: ConfigPath;
  readonly value: Value;
}

/** The well-formed parts of a file, before they are checked against each other. Ill-formed ones are left out. */
export interface Draft {
  /** Null where one of the plain settings is ill-formed. */
  readonly server: ServerSection | null;
  readonly apiKeys: readonly Entry<ApiKeyConfig>[];
  readonly people: readonly Entry<PersonEntry>[];
  readonly channels: readonly Entry<ChannelConfig>[];
  readonly policies: readonly Entry<PolicyEntry>[];
  readonly defaultPolicy: Entry<RuleEntry> | null;
  /** Whether there is one at all, well-formed or not. */
  readonly hasDefaultPolicy: boolean;
  readonly floor: Entry<FloorEntry> | null;
  readonly models: readonly (readonly [string, ModelConfig])[];
  readonly connectors: readonly Entry<ConnectorConfig>[];
  readonly agents: readonly Entry<AgentEntry>[];
  readonly names: DeclaredNames;
}

/** Checks the shape of each part by itself and reports what is ill-formed. */
export function readDraft(source: YamlSource, channelKinds: readonly AnyChannelKind[]): Draft {
  const root = source.value;
  const server = checkShape(source, [], serverSection, root);
  const lists = (typeof root === 'object' && root !== null ? root : {}) as Readonly<Record<string, unknown>>;

  const entriesOf = <Value>(section: string, read: (value: unknown, path: ConfigPath) => Value | null) => {
    const list = lists[section];
    return (Array.isArray(list) ? list : []).flatMap((raw: unknown, index): Entry<Value>[] => {
      const path = [section, index];
      const value = read(raw, path);
      return value === null ? [] : [{ path, value }];
    });
  };
  const shaped =
    <Value>(schema: z.ZodType<Value>) =>
    (value: unknown, path: ConfigPath): Value | null =>
      checkShape(source, path, schema, value);

  const entryOf = <Value>(key: string, schema: z.ZodType<Value>): Entry<Value> | null => {
    const value = lists[key] === undefined ? null : checkShape(source, [key], schema, lists[key]);
    return value === null ? null : { path: [key], value };
  };
  return {
    server,
    apiKeys: entriesOf('apiKeys', shaped(apiKeySchema)),
    people: entriesOf('people', shaped(personSchema(channelKinds, server?.timeZone ?? 'UTC'))),
    channels: entriesOf('channels', (value, at) => readChannel(source, at, value, channelKinds)),
    policies: entriesOf('policies', shaped(policySchema)),
    defaultPolicy: entryOf('defaultPolicy', ruleSchema),
    hasDefaultPolicy: lists.defaultPolicy !== undefined,
    floor: entryOf('floor', floorSchema),
    models: readModels(source, lists.models),
    connectors: entriesOf('connectors', (value, at) => readConnector(source, at, value)),
    agents: entriesOf('agents', shaped(agentSchema)),
    names: declaredNames(root),
  };
}

const channelEntry = z.looseObject({ id: id.transform(channelId), kind: z.string() });

function readChannel(
  source: YamlSource,
  path: ConfigPath,
  value: unknown,
  kinds: readonly AnyChannelKind[],
): ChannelConfig | null {
  const entry = checkShape(source, path, channelEntry, value);
  if (entry === null) return null;
  const { id: channel, kind: kindName, ...rest } = entry;
  const kind = kinds.find((candidate) => candidate.kind === kindName);
  if (kind === undefined) {
    const known = kinds.map((candidate) => candidate.kind);
    source.collector.fault([...path, 'kind'], `is not a known kind of channel${nearest(kindName, known)}`);
    return null;
  }
  const settings: unknown = checkShape(source, path, kind.settings, rest);
  return settings === null ? null : { id: channel, kind: kindName, settings };
}

function readConnector(source: YamlSource, path: ConfigPath, value: unknown): ConnectorConfig | null {
  const isMcp = typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'mcp';
  return checkShape<ConnectorConfig>(
    source,
    path,
    isMcp ? mcpConnectorSchema(value) : httpConnectorSchema,
    value,
  );
}

function readModels(source: YamlSource, value: unknown): (readonly [string, ModelConfig])[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, raw]) => {
    const model = checkShape(source, ['models', name], modelSchema, raw);
    return model === null ? [] : [[name, model] as const];
  });
}
