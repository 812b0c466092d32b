import { createHash } from 'node:crypto';
import { canonicalize } from 'json-canonicalize';
import type { ConnectorToolConfig, HttpConnectorConfig } from '../config/config.ts';
import type { JsonObject } from '../json.ts';

/**
 * The version of a connector's tool: a digest of all that says what it does and where. What was approved for one
 * version does not run as another. Header values are secrets that change without changing the tool: left out.
 */
export const connectorToolVersion = (connector: HttpConnectorConfig, tool: ConnectorToolConfig): string =>
  definitionDigest({
    connector: connector.id,
    kind: connector.kind,
    baseUrl: connector.baseUrl,
    name: tool.name,
    description: tool.description,
    method: tool.method,
    path: tool.path,
    parameters: tool.parameters,
    card: {
      amount: tool.card.amount,
      currency: tool.card.currency,
      payee: tool.card.payee,
      decisive: [...tool.card.decisive],
    },
    writes: tool.writes,
    idempotent: tool.idempotent,
    timeoutMs: tool.timeoutMs,
  });

/** `sha256:` + hex over the RFC 8785 form of a definition. */
export const definitionDigest = (definition: JsonObject): string =>
  `sha256:${createHash('sha256').update(canonicalize(definition)).digest('hex')}`;
