import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KEYS } from '../../e2e/platforms.ts';
import { type ServiceProcess, startServiceProcess } from '../../e2e/service-process.ts';
import type { ChatId, TrafficChat } from './chat.ts';
import { startFeishuChat } from './feishu-chat.ts';
import { feishuUnion, PEOPLE, personName, type Standing, slackUser, standingOf } from './people.ts';
import { TOOLS, type Tool } from './scripts.ts';
import type { SendErrors } from './send-errors.ts';
import { startSlackChat } from './slack-chat.ts';

/** The limits of a chat, sixty times as fast as the platform's: an hour goes by in a minute here. */
const SLACK_PER_SECOND = 60;
/** Feishu's five a second would be 300; more than 100 cannot be configured. */
const FEISHU_PER_SECOND = 100;

/** Before there is a service. */
const NOWHERE = 'http://127.0.0.1:9';

/** A service process between four chats, with forty people in each. */
export interface Company {
  /** Of the process that runs now: each listens on a port of its own. */
  readonly url: string;
  readonly chats: Readonly<Record<ChatId, TrafficChat>>;
  /** SIGKILL, `meanwhile`, and another process on the same database; gives how long nobody was there. */
  killAndRestart(meanwhile: () => Promise<void>): Promise<number>;
  stop(): Promise<void>;
}

export async function startCompany(input: {
  readonly databaseUrl: string;
  readonly errors: SendErrors;
  /** How long a `bank__brief` may be decided. */
  readonly briefSeconds: number;
}): Promise<Company> {
  const { databaseUrl, errors, briefSeconds } = input;
  let service: ServiceProcess | null = null;
  const serviceUrl = () => service?.url ?? NOWHERE;
  const dataDir = await mkdtemp(join(tmpdir(), 'countersign-traffic-'));
  const slack = { messagesPerSecond: SLACK_PER_SECOND, serviceUrl, errors };
  const feishu = { messagesPerSecond: FEISHU_PER_SECOND, serviceUrl, errors };
  const started = await Promise.all([
    startSlackChat({ ...slack, id: 'slack-socket', mode: 'socket' }),
    startSlackChat({ ...slack, id: 'slack-hooks', mode: 'http' }),
    startFeishuChat({ ...feishu, id: 'feishu-socket', mode: 'long-connection' }),
    startFeishuChat({ ...feishu, id: 'feishu-hooks', mode: 'webhook' }),
  ]);
  const chats = Object.fromEntries(started.map(({ chat }) => [chat.id, chat])) as Company['chats'];
  const yaml = `
organization: acme
listen: { host: 127.0.0.1, port: 0 }
publicUrl: https://gate.acme.example
database: ${databaseUrl}
dataDir: ${dataDir}
locale: en-US
apiKeys:
  - { id: procurement, key: ${KEYS.agent}, role: agent, agents: [procurement], requesters: ["*"] }
  - { id: audit-desk, key: ${KEYS.auditor}, role: auditor }
people:
${configuredPeople()}
channels:
${started.map(({ settings }) => `  - ${settings}`).join('\n')}
policies:
${Object.keys(TOOLS)
  .map((tool) => policyOf(tool as Tool, briefSeconds))
  .join('\n')}
externalTools: ["bank__*"]
agents:
  - { id: procurement, owner: ${personName(PEOPLE - 6)} }
`;
  service = await startServiceProcess(yaml);
  return {
    get url() {
      return serviceUrl();
    },
    chats,
    async killAndRestart(meanwhile) {
      const killedAt = performance.now();
      await service?.kill();
      await meanwhile();
      service = await startServiceProcess(yaml);
      return performance.now() - killedAt;
    },
    async stop() {
      await service?.stop();
      await Promise.all(started.map(({ chat }) => chat.stop()));
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

function configuredPeople(): string {
  const entry = (person: number, more: string) =>
    `  - { id: ${personName(person)}, name: ${personName(person)}${more}, slack: { team: T0ACME, user: ${slackUser(person)} }, feishu: { tenant: 2f0acme, unionId: ${feishuUnion(person)} } }`;
  return Array.from({ length: PEOPLE }, (_, person) => ({ person, standing: standingOf(person) }))
    .filter(({ standing }) => standing !== 'stranger')
    .map(({ person, standing }) => entry(person, GROUPS[standing]))
    .join('\n');
}

const GROUPS: Readonly<Record<Standing, string>> = {
  approver: ', groups: [finance]',
  'asking approver': ', groups: [finance]',
  bystander: '',
  left: ', groups: [finance], active: false',
  stranger: '',
};

function policyOf(tool: Tool, briefSeconds: number): string {
  const more: Readonly<Partial<Record<Tool, string>>> = {
    bank__double: ', quorum: 2',
    bank__brief: `, decideWithin: ${briefSeconds}s`,
  };
  return `  - { id: ${tool}, tools: [${tool}], approvers: ["group:finance"], reason: on-reject, channels: [${TOOLS[tool].join(', ')}]${more[tool] ?? ''} }`;
}
