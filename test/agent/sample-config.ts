import type {
  AgentConfig,
  Config,
  ConnectorToolConfig,
  PersonConfig,
  PolicyRule,
  RunLimits,
} from '../../src/config/config.ts';
import { agentId, personId } from '../../src/ids.ts';

export const httpTool = (
  changes: Partial<ConnectorToolConfig> & Pick<ConnectorToolConfig, 'name' | 'path'>,
): ConnectorToolConfig => ({
  description: `Does ${changes.name}.`,
  method: 'POST',
  parameters: { type: 'object', properties: {} },
  card: { amount: null, currency: null, payee: null, decisive: [] },
  writes: true,
  idempotent: false,
  requiresConfirmation: false,
  timeoutMs: 5_000,
  ...changes,
});

const PAYMENT = {
  type: 'object',
  required: ['payee', 'amount'],
  additionalProperties: false,
  properties: { payee: { type: 'string' }, amount: { type: 'string' }, confirm: { type: 'boolean' } },
} as const;

const payment = (name: string, path: string, changes: Partial<ConnectorToolConfig> = {}) =>
  httpTool({
    name,
    path,
    parameters: structuredClone(PAYMENT) as unknown as ConnectorToolConfig['parameters'],
    card: { amount: '/amount', currency: null, payee: '/payee', decisive: [] },
    requiresConfirmation: true,
    ...changes,
  });

const RULE: PolicyRule = {
  named: [],
  approvers: [personId('li.wei')],
  quorum: 1,
  allowSelfApproval: false,
  channels: [],
  notify: 'group',
  fallback: null,
  decideWithinMs: 60_000,
  executeWithinMs: 60_000,
  outcomeWithinMs: 3_600_000,
  deliveryTimeoutMs: 900_000,
  reason: 'never',
  remindAfterMs: null,
  escalation: null,
  coolOffMs: 0,
  excluded: null,
};

const person = (id: string, name: string): PersonConfig => ({
  id: personId(id),
  name,
  active: true,
  groups: [],
  roles: [],
  consoleKey: null,
  away: null,
  identities: [],
});

export const NO_LIMITS: RunLimits = { turns: 8, toolCalls: null, wallTimeMs: null, tokens: null };

export const agent = (id: string, changes: Partial<AgentConfig> = {}): AgentConfig => ({
  id: agentId(id),
  model: id,
  owner: personId('zhao.min'),
  executor: 'react',
  instructions: 'You buy things for Acme.',
  tools: ['oa__*'],
  delegates: [],
  hooks: [],
  requireConfirmationForAll: false,
  limits: NO_LIMITS,
  ...changes,
});

/** The configuration with other tools behind its HTTP connectors. */
export const withTools = (
  config: Config,
  change: (tools: readonly ConnectorToolConfig[], connector: string) => readonly ConnectorToolConfig[],
): Config => ({
  ...config,
  connectors: config.connectors.map((connector) =>
    connector.kind === 'http' ? { ...connector, tools: change(connector.tools, connector.id) } : connector,
  ),
});

/** Acme with one connector whose tools are gated (`pay…`) or not, each behaving as its name says. */
export const sampleConfig = (input: {
  readonly modelUrl: string;
  readonly toolUrl: string;
  readonly agents: readonly AgentConfig[];
}): Config => ({
  organization: 'acme',
  listen: { host: '127.0.0.1', port: 0 },
  operations: null,
  publicUrl: null,
  database: null,
  migrationDatabase: null,
  dataDir: '.countersign',
  locale: 'en-US',
  timeZone: 'UTC',
  trustProxy: [],
  parkAfterMs: 120_000,
  resumeAtOnce: 50,
  apiKeys: [],
  people: [person('li.wei', '李伟'), person('zhao.min', '赵敏')],
  channels: [],
  policies: [
    { ...RULE, id: 'hasty', tools: ['oa__pay_hasty'], when: null, decideWithinMs: 400 },
    { ...RULE, id: 'strict', tools: ['oa__pay_nobody'], when: null, approvers: [] },
  ],
  defaultPolicy: RULE,
  floor: null,
  models: Object.fromEntries(
    input.agents.map(({ id }) => [
      id,
      { baseUrl: input.modelUrl, apiKey: 'sk-secret-of-the-tests', model: id, stream: true },
    ]),
  ),
  masked: [],
  externalTools: ['bank__*'],
  connectors: [
    {
      id: 'oa',
      kind: 'http',
      baseUrl: input.toolUrl,
      headers: { authorization: 'Bearer secret-of-the-tests' },
      tools: [
        payment('pay', '/payments'),
        payment('pay_hasty', '/payments'),
        payment('pay_nobody', '/payments'),
        payment('pay_refused', '/refused'),
        payment('pay_broken', '/broken'),
        payment('pay_again', '/flaky', { idempotent: true }),
        payment('pay_never', '/broken', { idempotent: true }),
        payment('pay_freely', '/payments', { requiresConfirmation: false }),
        payment('pay_freely_broken', '/broken', { requiresConfirmation: false }),
        httpTool({ name: 'weather', path: '/weather', method: 'GET', writes: false }),
        httpTool({ name: 'log', path: '/log' }),
        payment('pay_slowly', '/slow'),
        httpTool({ name: 'huge', path: '/huge' }),
        httpTool({ name: 'nul', path: '/nul' }),
        httpTool({ name: 'hang', path: '/hang', timeoutMs: 200 }),
      ],
    },
    {
      id: 'other',
      kind: 'http',
      baseUrl: input.toolUrl,
      headers: {},
      tools: [payment('pay', '/payments')],
    },
  ],
  agents: input.agents,
  revision: 'sha256:00',
});
