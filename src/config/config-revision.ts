import { createHash } from 'node:crypto';
import { canonicalize } from 'json-canonicalize';
import type { AnyChannelKind } from '../channel/channel-kind.ts';
import type { Config, ConnectorConfig } from './config.ts';

/**
 * `sha256:` and hex over the canonical JSON of the configuration without its secrets: a changed rule changes it, a
 * rotated key does not, and nobody can try out guesses of a key against it.
 */
export function configRevision(
  config: Omit<Config, 'revision'>,
  channelKinds: readonly AnyChannelKind[],
): string {
  const shown = {
    ...config,
    database: config.database !== null,
    migrationDatabase: config.migrationDatabase !== null,
    apiKeys: config.apiKeys.map(({ key: _, ...rest }) => rest),
    people: config.people.map(({ consoleKey, ...rest }) => ({ ...rest, consoleKey: consoleKey !== null })),
    channels: config.channels.map((channel) => {
      const kind = channelKinds.find((candidate) => candidate.kind === channel.kind);
      return { ...channel, settings: without(kind?.secrets(channel.settings) ?? [], channel.settings) };
    }),
    models: Object.fromEntries(
      Object.entries(config.models).map(([name, { apiKey: _, ...rest }]) => [name, rest]),
    ),
    connectors: config.connectors.map(withoutValues),
  };
  return `sha256:${createHash('sha256').update(canonicalize(shown)).digest('hex')}`;
}

/** A connector with the names of its headers and variables alone: their values are secrets. */
function withoutValues(connector: ConnectorConfig) {
  if (connector.kind === 'http') return { ...connector, headers: Object.keys(connector.headers) };
  const { server } = connector;
  return {
    ...connector,
    server:
      server.transport === 'http'
        ? { ...server, headers: Object.keys(server.headers) }
        : { ...server, env: Object.keys(server.env) },
  };
}

/** The settings as JSON, each text that is a secret left out. */
function without(secrets: readonly string[], settings: unknown): unknown {
  const text = JSON.stringify(settings, (_, value: unknown) =>
    typeof value === 'string' && secrets.includes(value) ? null : value,
  );
  return text === undefined ? null : JSON.parse(text);
}
