import type { PlanNode } from '../../src/agent/plan.ts';
import type { Run } from '../../src/agent/run.ts';
import type { StartRun } from '../../src/agent/run-service.ts';
import type { AgentConfig, Config } from '../../src/config/config.ts';
import type { ConfirmationRequest, Surface } from '../../src/confirmation/confirmation-request.ts';
import { connectPostgres } from '../../src/db/connect-postgres.ts';
import type { Database } from '../../src/db/database.ts';
import { migrate } from '../../src/db/migrate.ts';
import type { AnyHookKind } from '../../src/hook/hook-kind.ts';
import { agentId, personId, type RunId } from '../../src/ids.ts';
import type { JsonObject } from '../../src/json.ts';
import { type EngineFixture, startEngine, toolNode } from '../agent/engine-fixture.ts';
import {
  type ModelRequest,
  ModelServer,
  type Turn,
  toolResults,
  type WireCall,
} from '../agent/model-server.ts';
import { agent, sampleConfig } from '../agent/sample-config.ts';
import { ToolServer } from '../agent/tool-server.ts';
import { newPostgresDatabase } from '../support/databases.ts';
import { until } from '../support/until.ts';

export const PAYMENT = { payee: 'Acme Ltd', amount: '10.00' };
export const BUYER = agentId('buyer');

/** A call as a case states it; both executors make it. */
export interface Call {
  readonly tool: string;
  readonly args?: JsonObject;
}

export const pay = (amount = '10.00', payee = 'Acme Ltd'): Call => ({
  tool: 'oa__pay',
  args: { payee, amount },
});

/** One service, or several on one PostgreSQL, with a scripted model and a payment server. */
export interface CaseRig {
  readonly url: string;
  readonly config: Config;
  readonly database: Database;
  readonly model: ModelServer;
  readonly payments: ToolServer;
  readonly engine: EngineFixture;
  /** One more process of the service on the same database; `change` is what differs in its configuration. */
  another(change?: (config: Config) => Config): Promise<EngineFixture>;
  stop(): Promise<void>;
}

export async function startRig(
  input: {
    readonly agents?: readonly AgentConfig[];
    readonly hookKinds?: readonly AnyHookKind[];
    readonly change?: (config: Config) => Config;
    readonly wrap?: (database: Database) => Database;
  } = {},
): Promise<CaseRig> {
  const model = new ModelServer();
  const payments = new ToolServer();
  const agents = input.agents ?? [agent('buyer', { delegates: [agentId('clerk')] }), agent('clerk')];
  const sample = sampleConfig({ modelUrl: await model.start(), toolUrl: await payments.start(), agents });
  const config = input.change?.(sample) ?? sample;
  for (const { id } of agents) model.follow(id, playInput);

  const url = await newPostgresDatabase();
  const opened: { engine: EngineFixture; database: Database }[] = [];
  const open = async (own: Config) => {
    const connected = await connectPostgres({ url });
    if (opened.length === 0) await migrate(connected);
    const database = input.wrap?.(connected) ?? connected;
    const engine = await startEngine({ database, config: own, hookKinds: input.hookKinds ?? [] });
    opened.push({ engine, database });
    return { engine, database };
  };
  const { engine, database } = await open(config);
  return {
    url,
    config,
    database,
    model,
    payments,
    engine,
    another: async (change) => (await open(change?.(config) ?? config)).engine,
    async stop() {
      for (const { engine } of opened) await engine.stop();
      for (const { database } of opened) await database.close();
      await Promise.all([model.stop(), payments.stop()]);
    },
  };
}

/** The turns of a model whose run's input is their script. */
export const script = (...turns: readonly (readonly Call[])[]): string =>
  JSON.stringify(
    turns.map((calls) => calls.map(({ tool, args }) => ({ name: tool, arguments: args ?? {} }))),
  );

/** Plays the script that the run's input holds, then says so; nothing is remembered between requests. */
export function playInput(request: ModelRequest): Turn {
  const turns = JSON.parse(
    request.messages.find(({ role }) => role === 'user')?.content ?? '[]',
  ) as WireCall[][];
  const calls = turns[request.messages.filter(({ role }) => role === 'assistant').length];
  return calls === undefined
    ? { text: 'Done.' }
    : { calls: calls.map((call, place) => ({ id: `call_${place}`, ...call })) };
}

export const nodes = (calls: readonly Call[]): PlanNode[] =>
  calls.map(({ tool, args }, place) => toolNode(`n${place}`, tool, args ?? {}, { onRejected: 'continue' }));

export interface Through {
  readonly executor: 'ReAct' | 'DAG';
  /** Starts a run that makes these calls side by side, under the agent `buyer` unless told otherwise. */
  start(engine: EngineFixture, calls: readonly Call[], changes?: Partial<StartRun>): Promise<Run>;
  /** What came back for each call: JSON where it is JSON, else the text. */
  told(rig: CaseRig, run: Run): unknown[];
}

/** Both ways in which a run comes to its calls. */
export const EXECUTORS: readonly Through[] = [
  {
    executor: 'ReAct',
    start: (engine, calls, changes) => engine.start({ agent: BUYER, input: script(calls), ...changes }),
    told: (rig, run) => {
      const asked = rig.model.requests.filter(({ messages }) =>
        messages.some(({ role, content }) => role === 'user' && content === run.input),
      );
      return toolResults(asked.at(-1)).map(parsed);
    },
  },
  {
    executor: 'DAG',
    start: (engine, calls, changes) => engine.start({ agent: BUYER, plan: nodes(calls), ...changes }),
    told: (_rig, run) => {
      const output = JSON.parse(run.output ?? '{}') as JsonObject;
      return run.invocations.map(({ node }) => output[node ?? '']);
    },
  },
];

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The one pending request of a run whose arguments hold this amount. */
export const askedAbout = (engine: EngineFixture, run: RunId, amount: string): Promise<ConfirmationRequest> =>
  until(async () => (await engine.asked(run)).find(({ args }) => args.amount === amount), {
    what: `somebody is asked about ${amount}`,
  });

export async function onlyRequest(engine: EngineFixture, run: RunId): Promise<ConfirmationRequest> {
  const [request, ...others] = await engine.asked(run);
  if (!request || others.length > 0) throw new Error(`${others.length + 1} requests instead of one`);
  return request;
}

export const vote = (
  engine: EngineFixture,
  { id }: Pick<ConfirmationRequest, 'id'>,
  verdict: 'approve' | 'reject',
  changes: { readonly person?: string; readonly reason?: string | null; readonly surface?: Surface } = {},
) =>
  engine.confirmations.decide({
    id,
    person: personId(changes.person ?? 'li.wei'),
    verdict,
    reason: changes.reason ?? null,
    argsDigest: null,
    surface: changes.surface ?? { kind: 'api' },
  });

/** The database as it is while NOTIFY fails after every commit: nothing is told, everything is written. */
export const mute = (database: Database): Database => ({
  kind: database.kind,
  connection: database.connection,
  prepared: database.prepared,
  transaction: (work) => database.transaction(work),
  close: () => database.close(),
  notifier: {
    notify: () => Promise.reject(new Error('the notification cannot be sent')),
    subscribe: (topic, listener) => database.notifier.subscribe(topic, listener),
    onReconnect: (run) => database.notifier.onReconnect(run),
    connected: false,
  },
});
