import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import type { Run, RunEvent } from '../../src/agent/run.ts';
import type { AuthorizeAnswer, AuthorizeCall, RunService, StartRun } from '../../src/agent/run-service.ts';
import type { AuditEvent, NewAuditEvent } from '../../src/audit/audit-event.ts';
import type { AuditReader } from '../../src/audit/audit-reader.ts';
import type { CallbackReply, TapEvent } from '../../src/channel/inbound-event.ts';
import { systemClock } from '../../src/clock.ts';
import type { ApiKeyConfig, Config, PersonConfig } from '../../src/config/config.ts';
import type { Freezes } from '../../src/confirmation/freeze.ts';
import { createApp } from '../../src/http/app.ts';
import type { AppOptions } from '../../src/http/app-options.ts';
import type { HttpApp } from '../../src/http/http-app.ts';
import type { ReadOnlyState } from '../../src/http/read-only-switch.ts';
import { agentId, apiKeyId, type ConfirmationId, newRunId, personId, type RunId } from '../../src/ids.ts';

const person = (id: string, name: string, extra: Partial<PersonConfig> = {}): PersonConfig => ({
  id: personId(id),
  name,
  active: true,
  groups: [],
  roles: [],
  consoleKey: `person-key-of-${id}`,
  identities: [],
  away: null,
  ...extra,
});

const key = (id: string, extra: Partial<ApiKeyConfig>): ApiKeyConfig => ({
  id: apiKeyId(id),
  key: `api-key-of-${id}`,
  role: 'agent',
  agents: [],
  requesters: [],
  ...extra,
});

export const PEOPLE: readonly PersonConfig[] = [
  person('li.wei', '李伟', { roles: ['operator'] }),
  person('wang.fang', '王芳'),
  person('zhao.min', '赵敏'),
  person('chen.jie', '陈洁', { roles: ['auditor'] }),
  person('owner', 'Owner'),
  person('lin.tao', '林涛', { roles: ['admin'] }),
  person('sun.li', '孙丽'),
  person('he.ping', '何平', { active: false, roles: ['admin'] }),
];

export const API_KEYS: readonly ApiKeyConfig[] = [
  key('procurement', { agents: ['procurement'], requesters: ['*'] }),
  key('sales', { agents: ['sales'] }),
  key('desk', { role: 'operator' }),
  key('audit', { role: 'auditor' }),
  key('root', { role: 'admin' }),
];

/** The headers of an API key or of a person, by id. */
export function as(id: string): { authorization: string } {
  const found =
    API_KEYS.find((candidate) => candidate.id === id)?.key ??
    PEOPLE.find((candidate) => candidate.id === id)?.consoleKey;
  if (!found) throw new Error(`The fixture has no key ${id}`);
  return { authorization: `Bearer ${found}` };
}

export const CONFIG: Config = {
  organization: 'acme',
  listen: { host: '127.0.0.1', port: 0 },
  operations: null,
  publicUrl: null,
  database: null,
  migrationDatabase: null,
  dataDir: '',
  locale: 'en-US',
  timeZone: 'Asia/Shanghai',
  trustProxy: [],
  parkAfterMs: 120_000,
  resumeAtOnce: 50,
  apiKeys: API_KEYS,
  people: PEOPLE,
  channels: [],
  policies: [],
  defaultPolicy: null,
  floor: null,
  models: {},
  masked: [],
  externalTools: ['bank__*'],
  connectors: [{ id: 'oa', kind: 'http', baseUrl: 'http://127.0.0.1:1', headers: {}, tools: [] }],
  agents: ['procurement', 'sales'].map((id) => ({
    id: agentId(id),
    model: null,
    owner: personId('owner'),
    executor: 'react',
    instructions: '',
    tools: [],
    delegates: [],
    hooks: [],
    requireConfirmationForAll: false,
    limits: { turns: 10, toolCalls: null, wallTimeMs: null, tokens: null },
  })),
  revision: 'test',
};

/** Runs that a test puts there; `events` gives what the test says. */
export class RunsFixture implements RunService {
  readonly started: StartRun[] = [];
  readonly cancelled: RunId[] = [];
  readonly runs = new Map<string, Run>();
  events: RunService['events'] = async function* () {};
  onWait: RunService['wait'] = async ({ id }) => this.runs.get(id) ?? null;

  add(changes: Partial<Run> = {}): Run {
    const run: Run = {
      id: newRunId(),
      agent: agentId('procurement'),
      executor: 'react',
      status: 'running',
      input: 'Buy paper',
      output: null,
      error: null,
      session: 's1',
      requester: { id: personId('zhao.min'), name: '赵敏' },
      parentRun: null,
      plan: null,
      childRuns: [],
      evaluation: false,
      apiKeyId: 'procurement',
      invocations: [],
      eventCount: 3,
      createdAt: new Date('2026-11-30T10:00:00Z'),
      finishedAt: null,
      ...changes,
    };
    this.runs.set(run.id, run);
    return run;
  }
  async start(input: StartRun): Promise<Run> {
    this.started.push(input);
    return this.add({ agent: input.agent, input: input.input });
  }
  async get(id: RunId): Promise<Run | null> {
    return this.runs.get(id) ?? null;
  }
  wait(input: Parameters<RunService['wait']>[0]): Promise<Run | null> {
    return this.onWait(input);
  }
  async cancel(id: RunId): Promise<Run | null> {
    this.cancelled.push(id);
    return this.runs.get(id) ?? null;
  }
}

export const runEvent = (seq: number, kind: RunEvent['kind'] = 'model.delta'): RunEvent => ({
  seq,
  kind,
  at: new Date('2026-11-30T10:00:00Z'),
  data: { text: `event ${seq}` },
});

export const auditEvent = (seq: number): AuditEvent => ({
  seq,
  id: randomUUID(),
  at: new Date('2026-11-30T10:00:00Z'),
  kind: 'vote.cast',
  confirmation: null,
  run: null,
  actor: { type: 'person', id: 'li.wei', name: '李伟' },
  data: {},
  prevHash: 'a',
  hash: 'b',
  requestSeq: seq,
  requestPrev: 'c',
  requestHash: 'd',
});

const NO_FREEZES: Freezes = {
  start: async () => {
    throw new Error('this fixture holds no freezes');
  },
  end: async () => ({ kind: 'not-found' }),
  list: async () => [],
  active: async () => [],
};

/** The neighbours of the HTTP surface that a test holds in its hand. */
export interface Neighbours {
  readonly runs: RunsFixture;
  readonly asked: AuthorizeCall[];
  readonly recorded: NewAuditEvent[];
  readonly readOnly: { -readonly [Key in keyof ReadOnlyState]: ReadOnlyState[Key] };
  readonly metrics: Registry;
  readonly logLines: string[];
  /** None, unless a test brings the real store. */
  freezes: Freezes;
  authorize: (call: AuthorizeCall) => Promise<AuthorizeAnswer>;
  onTap: (event: TapEvent) => Promise<CallbackReply>;
  audit: AuditReader;
}

export function createNeighbours(): Neighbours {
  return {
    runs: new RunsFixture(),
    asked: [],
    recorded: [],
    readOnly: { organization: false, connectors: [] },
    metrics: new Registry(),
    logLines: [],
    freezes: NO_FREEZES,
    authorize: async () => ({ kind: 'allow', args: {}, argsDigest: 'sha256:0' }),
    onTap: async () => ({
      kind: 'notice',
      notice: { level: 'success', text: { 'zh-CN': '好', 'en-US': 'Done' } },
    }),
    audit: {
      list: async () => ({ items: [], nextCursor: null }),
      verify: async () => ({ ok: true, events: 0, head: { seq: 0, hash: '' } }),
      export: async function* () {},
    },
  };
}

/** The real application between the given core and neighbours. */
export function startApp(
  neighbours: Neighbours,
  confirmations: AppOptions['confirmations'],
  changes: Partial<AppOptions> = {},
): HttpApp {
  return createApp({
    config: CONFIG,
    confirmations,
    authorizer: {
      authorize: (call) => {
        neighbours.asked.push(call);
        return neighbours.authorize(call);
      },
    },
    runs: neighbours.runs,
    tap: { handle: (_channel, event) => neighbours.onTap(event) },
    channels: new Map(),
    audit: {
      list: (filter) => neighbours.audit.list(filter),
      verify: () => neighbours.audit.verify(),
      export: (filter) => neighbours.audit.export(filter),
    },
    auditRecorder: { record: async (event) => void neighbours.recorded.push(event) },
    cards: { list: async () => ({ items: [], nextCursor: null }) },
    refusals: { record: async ({ event }) => void neighbours.recorded.push(event) },
    readOnly: {
      get: async () => neighbours.readOnly,
      set: async ({ scope, readOnly }) => {
        if (scope.kind === 'organization') neighbours.readOnly.organization = readOnly;
        else neighbours.readOnly.connectors = readOnly ? [scope.id] : [];
        return neighbours.readOnly;
      },
    },
    freezes: neighbours.freezes,
    readiness: { check: async () => [{ name: 'database', ready: true, detail: 'connected' }] },
    people: {
      byId: (id) => {
        const found = PEOPLE.find((candidate) => candidate.id === id);
        return found ? { id: found.id, name: found.name, active: found.active } : null;
      },
      absenceOf: () => null,
    },
    metrics: neighbours.metrics,
    clock: systemClock,
    logger: pino({ level: 'debug' }, { write: (line: string) => void neighbours.logLines.push(line) }),
    ...changes,
  });
}

export const UNKNOWN_ID = '0198c0de-0000-7000-8000-000000000000' as ConfirmationId;
