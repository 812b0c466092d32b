import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'drizzle-orm';
import { connectPostgres } from '../../src/db/connect-postgres.ts';
import { rowsOf } from '../../src/db/rows-of.ts';
import { startFeishuStandin } from '../../src/standin/feishu/start-feishu-standin.ts';
import { startSlackStandin } from '../../src/standin/slack/start-slack-standin.ts';
import { type ConfirmationJson, call, PAYMENT } from '../e2e/api.ts';
import { KEYS, type Platforms } from '../e2e/platforms.ts';
import { type ServiceProcess, startServiceProcess } from '../e2e/service-process.ts';
import { until } from '../support/until.ts';
import { feishuTap, slackTap, type Tap } from './callbacks.ts';
import { post, type WireAnswer, type WireRequest } from './post.ts';

export type ChatId = 'pay-slack' | 'pay-feishu';

/** A request with the cards that stand in the chats. */
export interface Shown {
  readonly id: string;
  readonly cards: Readonly<Record<ChatId, { readonly token: string; readonly messageId: string }>>;
}

/** The real service as a process between both stand-ins, and the ways to look behind it. */
export interface Gate {
  readonly platforms: Platforms;
  readonly url: string;
  log(): string;
  /** Asks, and waits until both cards stand. `bank__double` needs two people. */
  shown(tool?: string): Promise<Shown>;
  ask(tool?: string): Promise<string>;
  /** A tap of this card in that chat, as wire bytes. */
  tap(chat: ChatId, shown: Shown, changes: Partial<Tap> & Pick<Tap, 'user'>): WireRequest;
  send(chat: ChatId, request: WireRequest): Promise<WireAnswer>;
  read(id: string): Promise<ConfirmationJson>;
  /** Everything that a callback may change: requests with votes and cards. */
  state(): Promise<string>;
  /** How many events of each kind and code the record holds for a request; null: for none. */
  events(id: string | null): Promise<Readonly<Record<string, number>>>;
  rows<Row>(statement: ReturnType<typeof sql>): Promise<readonly Row[]>;
  /** With another pace where one is given: messages a second to each chat; null: as fast as the platforms allow. */
  restart(messagesPerSecond?: number | null): Promise<void>;
  stop(): Promise<void>;
}

/** Members of both chats: approvers first, then everybody who must not be taken for one. */
export const SLACK_MEMBERS = ['U0LIWEI', 'U0WANG', 'U0ZHAO', 'U0OLD', 'U0NOBODY', 'U0BOT', 'USLACKBOT'];
const FEISHU_MEMBERS = ['ou_liwei', 'ou_wang', 'ou_zhao', 'ou_old', 'ou_nobody', 'ou_amb'];

export async function startGate(databaseUrl: string): Promise<Gate> {
  const platforms = await startChats();
  const dataDir = await mkdtemp(join(tmpdir(), 'countersign-chaos-'));
  const database = await connectPostgres({ url: databaseUrl });
  let pace: number | null = 100;
  const start = async (): Promise<ServiceProcess> => {
    const started = await startServiceProcess(yamlOf({ platforms, databaseUrl, dataDir, pace }));
    platforms.serviceUrl = started.url;
    return started;
  };
  let service = await start();
  let earlierLog = '';
  const rows = <Row>(statement: ReturnType<typeof sql>) => rowsOf<Row>(database.connection, statement);

  const ask = async (tool = 'bank__transfer'): Promise<string> => {
    const body = { tool, args: PAYMENT, agent: 'procurement', requester: 'zhao.min' };
    const asked = await call<{ confirmation: { id: string } }>(service.url, 'POST', '/v1/confirmations', {
      body,
    });
    if (asked.status !== 201) throw new Error(`Not asked: ${asked.status} ${JSON.stringify(asked.body)}`);
    return asked.body.confirmation.id;
  };

  return {
    platforms,
    get url() {
      return service.url;
    },
    log: () => earlierLog + service.log(),
    ask,
    async shown(tool) {
      const id = await ask(tool);
      const cards = await until(
        async () => {
          const sent = await rows<{ channel_id: ChatId; token: string; message_ids: string[] }>(
            sql`select channel_id, token, message_ids from deliveries where confirmation_id = ${id} and state = 'sent'`,
          );
          return sent.length === 2 ? sent : null;
        },
        { what: 'both cards', deadlineMs: 15_000 },
      );
      const cardOf = (chat: ChatId) => {
        const card = cards.find(({ channel_id }) => channel_id === chat);
        return { token: card?.token ?? '', messageId: card?.message_ids[0] ?? '' };
      };
      return { id, cards: { 'pay-slack': cardOf('pay-slack'), 'pay-feishu': cardOf('pay-feishu') } };
    },
    tap(chat, shown, changes) {
      const tap: Tap = { verdict: 'approve', confirmation: shown.id, ...shown.cards[chat], ...changes };
      return chat === 'pay-slack' ? slackTap(tap) : feishuTap(tap);
    },
    send: (chat, request) => post(`${service.url}/channels/${chat}/callback`, request),
    read: async (id) =>
      (await call<ConfirmationJson>(service.url, 'GET', `/v1/confirmations/${id}`, { key: KEYS.auditor }))
        .body,
    async state() {
      const requests = await rows(sql`select id, version, status from confirmations order by id`);
      const votes = await rows(sql`select confirmation_id, person_id, verdict from votes order by id`);
      const cards = await rows(sql`select id, message_ids from deliveries order by id`);
      return JSON.stringify({ requests, votes, cards });
    },
    async events(id) {
      const found = await rows<{ what: string; count: number }>(
        sql`select kind || coalesce(':' || (data ->> 'code'), '') as what, count(*)::int as count
            from audit_events where confirmation_id is not distinct from ${id} group by 1`,
      );
      return Object.fromEntries(found.map(({ what, count }) => [what, count]));
    },
    rows,
    async restart(messagesPerSecond = pace) {
      pace = messagesPerSecond;
      earlierLog += service.log();
      await service.stop();
      service = await start();
    },
    async stop() {
      await service.stop();
      await platforms.stop();
      await database.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

async function startChats(): Promise<Platforms> {
  const at = (chat: ChatId) => () => `${platforms.serviceUrl}/channels/${chat}/callback`;
  const slack = await startSlackStandin({
    botToken: 'xoxb-standin',
    signingSecret: 'slack-signing-secret',
    appId: 'A0COUNTER',
    team: 'T0ACME',
    channel: 'C0FINANCE',
    users: SLACK_MEMBERS.map((id) => ({ id, name: id.toLowerCase() })),
    callbackUrl: at('pay-slack'),
  });
  const feishu = await startFeishuStandin({
    appId: 'cli_a1b2c3d4e5f60718',
    appSecret: 'feishu-app-secret',
    encryptKey: 'feishu-encrypt-key',
    verificationToken: 'feishu-verification-token',
    tenant: '2f0acme',
    chat: 'oc_finance',
    users: FEISHU_MEMBERS.map((openId) => ({ openId, unionId: `on_${openId}`, name: openId })),
    callbackUrl: at('pay-feishu'),
  });
  let stopped: Promise<unknown> | null = null;
  const platforms: Platforms = {
    slack,
    feishu,
    serviceUrl: '',
    async stop() {
      stopped ??= Promise.all([slack.stop(), feishu.stop()]);
      await stopped;
    },
  };
  return platforms;
}

interface ServiceFacts {
  readonly platforms: Platforms;
  readonly databaseUrl: string;
  readonly dataDir: string;
  readonly pace: number | null;
}

const yamlOf = ({ platforms, databaseUrl, dataDir, pace }: ServiceFacts): string => `
organization: acme
listen: { host: 127.0.0.1, port: 0 }
database: ${databaseUrl}
dataDir: ${dataDir}
locale: zh-CN
apiKeys:
  - { id: procurement, key: ${KEYS.agent}, role: agent, agents: [procurement], requesters: ["*"] }
  - { id: audit-desk, key: ${KEYS.auditor}, role: auditor }
  - { id: admins, key: ${KEYS.admin}, role: admin }
people:
  - { id: li.wei, name: 李伟, groups: [finance], consoleKey: ${KEYS.liWei}, roles: [operator], slack: { team: T0ACME, user: U0LIWEI }, feishu: { tenant: 2f0acme, openId: ou_liwei } }
  - { id: wang.fang, name: 王芳, groups: [finance], consoleKey: ${KEYS.wangFang}, slack: { team: T0ACME, user: U0WANG }, feishu: { tenant: 2f0acme, openId: ou_wang } }
  - { id: zhao.min, name: 赵敏, groups: [finance], slack: { team: T0ACME, user: U0ZHAO }, feishu: { tenant: 2f0acme, openId: ou_zhao } }
  - { id: sun.li, name: 孙丽, slack: { team: T0ACME, user: U0BOT } }
  - { id: old.hand, name: 老手, active: false, groups: [finance], slack: { team: T0ACME, user: U0OLD }, feishu: { tenant: 2f0acme, openId: ou_old } }
  - { id: amb.one, name: 甲, groups: [finance], feishu: { tenant: 2f0acme, openId: ou_amb } }
  - { id: amb.two, name: 乙, groups: [finance], feishu: { tenant: 2f0acme, unionId: on_amb } }
channels:
  - { id: pay-slack, kind: slack, apiUrl: "${platforms.slack.url}", botToken: xoxb-standin, signingSecret: slack-signing-secret, team: T0ACME, appId: A0COUNTER, channel: C0FINANCE${pace === null ? '' : `, messagesPerSecond: ${pace}`} }
  - { id: pay-feishu, kind: feishu, domain: "${platforms.feishu.url}", appId: cli_a1b2c3d4e5f60718, appSecret: feishu-app-secret, encryptKey: feishu-encrypt-key, verificationToken: feishu-verification-token, tenant: 2f0acme, chat: oc_finance${pace === null ? '' : `, messagesPerSecond: ${pace}`} }
policies:
  - { id: double, tools: ["bank__double"], approvers: ["group:finance"], quorum: 2 }
  - { id: lone, tools: ["bank__lone"], approvers: ["group:finance"], channels: [pay-slack] }
  - { id: rerouted, tools: ["bank__rerouted"], approvers: ["group:finance"], channels: [pay-feishu], fallback: [pay-slack] }
  - { id: single, tools: ["bank__*"], approvers: ["group:finance"] }
externalTools: ["bank__*", "crm__*"]
agents:
  - { id: procurement, owner: zhao.min }
`;
