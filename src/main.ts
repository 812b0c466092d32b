import type { Logger } from 'pino';
import { CHANNEL_KINDS } from '../channels/index.ts';
import { createConfirmationGate as createGateHook } from '../hooks/confirmation-gate.ts';
import { HOOK_KINDS } from '../hooks/index.ts';
import { type AgentEngine, createAgentEngine } from './agent/create-agent-engine.ts';
import { ToolCatalog } from './agent/tool-catalog.ts';
import type { Channel } from './channel/channel.ts';
import { type Clock, systemClock } from './clock.ts';
import type { Config, ConnectorConfig } from './config/config.ts';
import { createArgumentMask } from './confirmation/argument-mask.ts';
import { createTapHandler } from './confirmation/handle-tap.ts';
import { createRoster, type Roster } from './confirmation/roster.ts';
import { createAuditReader } from './db/audit-reader.ts';
import { createAuditRecorder } from './db/audit-store.ts';
import { createCardRecords } from './db/card-record-store.ts';
import { ConnectorLogStore } from './db/connector-log-store.ts';
import { createTapDeliveries } from './db/delivery-store.ts';
import { FreezeStore } from './db/freeze-store.ts';
import { RateLimitStore } from './db/rate-limit-store.ts';
import { ReadOnlyStore } from './db/read-only-store.ts';
import { createRerunStore } from './db/rerun-store.ts';
import { createRunSignals } from './db/run-signals.ts';
import { createRunStore } from './db/run-store.ts';
import { createSessionStore } from './db/session-store.ts';
import { createApp } from './http/app.ts';
import type { HttpApp } from './http/http-app.ts';
import { createOperationsApp } from './http/operations-app.ts';
import type { ChannelId } from './ids.ts';
import { connectServers } from './service/connect-servers.ts';
import type { Foundation } from './service/foundation.ts';
import { createInboundHandler } from './service/inbound-handler.ts';
import { createMetrics } from './service/metrics.ts';
import { prepareDatabase } from './service/prepare-database.ts';
import { createReadiness } from './service/readiness.ts';
import { type Core, startCore } from './service/start-core.ts';
import { startDeliveries } from './service/start-deliveries.ts';

export { CHANNEL_KINDS, HOOK_KINDS };

export interface RunningService {
  /** Where the API listens, `http://host:port`. */
  readonly url: string;
  /** Drains: takes no new work, lets callbacks in flight commit, gives leases back, then closes everything. */
  stop(): Promise<void>;
}

/**
 * The composition root: configuration → database → channels → hooks → app → listen. It alone knows every part. A
 * throw means that nothing runs: whatever had been started is stopped again.
 */
export async function startService(input: {
  readonly config: Config;
  readonly logger: Logger;
  readonly clock?: Clock;
}): Promise<RunningService> {
  const { config, logger, clock = systemClock } = input;
  const metrics = createMetrics();
  const database = await prepareDatabase(config, logger, metrics.listener);
  const started: { stop(): Promise<void> | void }[] = [{ stop: () => database.close() }];
  const stopAll = async () => {
    for (const part of started.splice(0).reverse()) {
      // One part that cannot stop in order keeps none of the others, nor the process, from ending.
      await (async () => part.stop())().catch((error: unknown) =>
        logger.error({ err: error }, 'a part could not be stopped in order'),
      );
    }
  };
  try {
    const mask = createArgumentMask(config.masked);
    const service = await assemble({ config, logger, clock, metrics, database, mask, started });
    return { url: service.url, stop: stopAll };
  } catch (error) {
    await stopAll();
    throw error;
  }
}

/** Every secret of the configuration, for the log to blot out. */
export function secretsOf(config: Config): readonly string[] {
  const ofChannels = config.channels.flatMap(
    ({ kind, settings }) => CHANNEL_KINDS.find((known) => known.kind === kind)?.secrets(settings) ?? [],
  );
  return [
    ...config.apiKeys.map(({ key }) => key),
    ...config.people.flatMap(({ consoleKey }) => consoleKey ?? []),
    ...Object.values(config.models).map(({ apiKey }) => apiKey),
    ...config.connectors.flatMap(connectorSecrets),
    ...[config.database, config.migrationDatabase].flatMap((url) => url ?? []),
    ...ofChannels,
  ];
}

function connectorSecrets(connector: ConnectorConfig): readonly string[] {
  if (connector.kind === 'http') return Object.values(connector.headers);
  const { server } = connector;
  return Object.values(server.transport === 'http' ? server.headers : server.env);
}

async function assemble(foundation: Foundation): Promise<{ readonly url: string }> {
  const { config, logger, clock, metrics, database, mask, started } = foundation;
  const channels = createChannels(foundation);
  const roster = createRoster(config.people);
  const servers = await connectServers(foundation);
  const catalog = new ToolCatalog(config, servers);
  const auditRecorder = createAuditRecorder(database);
  const readOnly = new ReadOnlyStore(database);
  const freezes = new FreezeStore(database);
  const core = await startCore(foundation, { channels, roster, catalog, freezes });
  const engine = createAgents(foundation, { ...core, roster, catalog, readOnly });
  if (engine.faults.length > 0) throw new Error(`Agents cannot be set up: ${engine.faults.join('; ')}`);

  const tap = createTapHandler({
    confirmations: core.confirmations,
    deliveries: createTapDeliveries(database),
    roster,
    refusals: core.refusals,
    clock,
    logger,
    timeZone: config.timeZone,
    mask,
  });
  const server = createApp({
    config,
    confirmations: core.confirmations,
    authorizer: engine.authorizer,
    runs: engine.runs,
    tap,
    channels,
    audit: createAuditReader(database),
    auditRecorder,
    cards: createCardRecords(database),
    refusals: core.refusals,
    readOnly,
    freezes,
    readiness: createReadiness({ database, channels: [...channels.values()], servers }),
    people: roster,
    metrics: metrics.registry,
    clock,
    logger,
  });
  started.push({ stop: () => server.close() });
  const url = await listen(server, config.listen);
  if (config.operations) {
    const operations = createOperationsApp({
      logger,
      metrics: metrics.registry,
      readiness: createReadiness({ database, channels: [...channels.values()], servers }),
    });
    started.push({ stop: () => operations.close() });
    await listen(operations, config.operations);
  }
  for (const channel of channels.values()) {
    await channel.start();
    started.push(channel);
    const port = { channel, tap, audit: auditRecorder, metrics: metrics.registry, logger };
    channel.connection?.open(createInboundHandler(port));
  }
  metrics.observeConnections([...channels.values()]);
  startDeliveries(foundation, { ...core, freezes, channels, publicUrl: config.publicUrl ?? url });
  await engine.start();
  started.push(engine);
  metrics.observe(
    'countersign_votes_under_way',
    'Votes of people that this process has not answered yet',
    core.confirmations.votesUnderWay,
  );
  metrics.observe('countersign_active_runs', 'Runs that this process works on', engine.activeRuns);
  metrics.observe(
    'countersign_unread_requests',
    'Requests that runs here wait for and that could not be read at the last try',
    engine.unreadRequests,
  );
  return { url };
}

function createChannels({ config, clock, logger }: Foundation): ReadonlyMap<ChannelId, Channel> {
  return new Map(
    config.channels.map(({ id, kind, settings }) => {
      const known = CHANNEL_KINDS.find((candidate) => candidate.kind === kind);
      if (!known) throw new Error(`No channel of kind ${kind} is built in`);
      const channel = known.create({
        id,
        settings,
        locale: config.locale,
        clock,
        logger: logger.child({ channel: id }),
      });
      return [id, channel];
    }),
  );
}

function createAgents(
  { config, logger, clock, database }: Foundation,
  parts: Pick<Core, 'confirmations' | 'gate'> & {
    readonly roster: Roster;
    readonly catalog: ToolCatalog;
    readonly readOnly: ReadOnlyStore;
  },
): AgentEngine {
  const { roster, catalog, readOnly, confirmations, gate } = parts;
  return createAgentEngine({
    config,
    catalog,
    store: createRunStore({ database, clock }),
    reruns: createRerunStore(database),
    sessions: createSessionStore(database),
    signals: createRunSignals(database),
    exclusive: database.kind === 'embedded',
    confirmations,
    audit: createAuditRecorder(database),
    clock,
    logger,
    hookKinds: HOOK_KINDS,
    gateHookFor: (agent) =>
      createGateHook({ gate, confirmationForAll: agent?.requireConfirmationForAll ?? false }),
    hookPorts: {
      clock,
      locale: config.locale,
      timeZone: config.timeZone,
      people: roster,
      readOnly,
      rateLimit: new RateLimitStore(database),
      connectorLog: new ConnectorLogStore(database),
    },
  });
}

async function listen(app: HttpApp, address: Config['listen']): Promise<string> {
  return app.listen({ host: address.host, port: address.port });
}
