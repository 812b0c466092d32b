import type { ChannelAddress } from '../channel/channel.ts';
import type { Config, PersonConfig } from '../config/config.ts';
import { agentId, apiKeyId, personId } from '../ids.ts';

/** Who asks, for whom, about what: none of it is anything that could run. */
export const CHANNEL_TEST = {
  agent: 'channel-test',
  requester: 'channel-test',
  tool: 'trial__channel_test',
} as const;

/**
 * The configuration with one channel, one policy and a database of its own, in which everybody with an account in the
 * channel may answer a call that nothing runs. Null where nobody has one.
 */
export function channelTestConfig(input: {
  readonly config: Config;
  readonly entry: Config['channels'][number];
  readonly address: ChannelAddress;
  /** The key under which the test asks. */
  readonly key: string;
  readonly dataDir: string;
  readonly timeoutMs: number;
}): Config | null {
  const { config, entry, address, key, dataDir, timeoutMs } = input;
  const approvers = config.people.filter(
    ({ active, identities }) =>
      active &&
      identities.some(({ provider, tenant }) => provider === address.provider && tenant === address.tenant),
  );
  if (approvers.length === 0) return null;
  const requester = personId(CHANNEL_TEST.requester);
  const asker: PersonConfig = {
    ...{ id: requester, name: 'Countersign', active: true, groups: [], roles: [] },
    ...{ consoleKey: null, identities: [], away: null },
  };
  return {
    ...config,
    ...{ database: null, migrationDatabase: null, dataDir, operations: null },
    channels: [entry],
    people: [...config.people, asker],
    policies: [
      {
        ...{ id: 'channel-test', tools: [CHANNEL_TEST.tool], when: null, named: [], quorum: 1 },
        approvers: approvers.map(({ id }) => id),
        ...{ allowSelfApproval: false, channels: [entry.id], notify: 'group', fallback: null },
        ...{ decideWithinMs: timeoutMs + 60_000, executeWithinMs: 60_000, outcomeWithinMs: 60_000 },
        ...{ deliveryTimeoutMs: timeoutMs, reason: 'never', remindAfterMs: null, escalation: null },
        ...{ coolOffMs: 0, excluded: null },
      },
    ],
    ...{ defaultPolicy: null, floor: null, models: {}, connectors: [], externalTools: [CHANNEL_TEST.tool] },
    apiKeys: [
      { id: apiKeyId('channel-test'), key, role: 'agent', agents: [CHANNEL_TEST.agent], requesters: ['*'] },
    ],
    agents: [
      {
        ...{ id: agentId(CHANNEL_TEST.agent), model: null, owner: requester, executor: 'react' },
        ...{
          instructions: '',
          tools: [],
          delegates: [],
          hooks: [],
          requireConfirmationForAll: false,
          limits: { turns: 1, toolCalls: 0, wallTimeMs: null, tokens: null },
        },
      },
    ],
  };
}
