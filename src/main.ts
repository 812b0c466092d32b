import type { Logger } from 'pino';
import { CHANNEL_KINDS } from '../channels/index.ts';
import { createConfirmationGate as createGateHook } from '../hooks/confirmation-gate.ts';
import { HOOK_KINDS } from '../hooks/index.ts';
import { type AgentEngine, createAgentEngine } from './agent/create-agent-engine.ts';
import { McpConnector } from './agent/mcp-connector.ts';
import { ToolCatalog } from './agent/tool-catalog.ts';
import type { Channel } from './channel/channel.ts';
import { ChatPaces } from './channel/chat-pace.ts';
import { DeliveryWorker } from './channel/delivery-worker.ts';
import { ReminderWorker } from './channel/reminder-worker.ts';
import { type Clock, sleep, systemClock } from './clock.ts';
import type { Config, ConnectorConfig } from './config/config.ts';
import { createArgumentMask } from './confirmation/argument-mask.ts';
import type { Reach } from './confirmation/card-places.ts';
import type { ConfirmationService } from './confirmation/confirmation-service.ts';
import { createCardSource } from './confirmation/create-card-source.ts';
import { createConfirmationService } from './confirmation/create-confirmation-service.ts';
import { type Freezes, freezeOf } from './confirmation/freeze.ts';
import { FreezeCards } from './confirmation/freeze-cards.ts';
import type { ConfirmationGate } from './confirmation/gate.ts';
import { createTapHandler } from './confirmation/handle-tap.ts';
import type { ConfirmationLedger } from './confirmation/ledger.ts';
import { createPolicyEvaluator } from './confirmation/policy-evaluator.ts';
import type { RefusalRecorder } from './confirmation/refused-attempt.ts';
import { reminderText } from './confirmation/reminder-text.ts';
import { createConfirmationGate } from './confirmation/request-confirmation.ts';
import { createRoster, type Roster } from './confirmation/roster.ts';
import { Sweeper } from './confirmation/sweeper.ts';
import { endUnreached } from './confirmation/undeliverable.ts';
import { ConfirmationWaiter } from './confirmation/waiter.ts';
import { createAuditReader } from './db/audit-reader.ts';
import { AuditSequencer } from './db/audit-sequencer.ts';
import { createAuditRecorder } from './db/audit-store.ts';
import { createConfirmationLedger } from './db/confirmation-ledger.ts';
import { ConnectorLogStore } from './db/connector-log-store.ts';
import type { Database } from './db/database.ts';
import { createDeliveryOutbox } from './db/delivery-outbox-store.ts';
import { createTapDeliveries, deliveriesOf } from './db/delivery-store.ts';
import { createFreezeCardStore } from './db/freeze-card-store.ts';
import { FreezeStore } from './db/freeze-store.ts';
import { createMcpListingStore } from './db/mcp-listing-store.ts';
import { RateLimitStore } from './db/rate-limit-store.ts';
import { ReadOnlyStore } from './db/read-only-store.ts';
import { createRefusalStore } from './db/refusal-store.ts';
import { createReminderOutbox } from './db/reminder-store.ts';
import { createRerunStore } from './db/rerun-store.ts';
import { createRunSignals } from './db/run-signals.ts';
import { createRunStore } from './db/run-store.ts';
import { serviceSecret } from './db/service-secret.ts';
import { createSessionStore } from './db/session-store.ts';
import { createApp } from './http/app.ts';
import type { HttpApp } from './http/http-app.ts';
import { createOperationsApp } from './http/operations-app.ts';
import type { ChannelId } from './ids.ts';
import { createInboundHandler } from './service/inbound-handler.ts';
import { createMetrics, type ServiceMetrics } from './service/metrics.ts';
import { prepareDatabase } from './service/prepare-database.ts';
import { createReach } from './service/reach.ts';
import { createReadiness } from './service/readiness.ts';

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
    const service = await assemble({ config, logger, clock, metrics, database, started });
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

interface Foundation {
  readonly config: Config;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly metrics: ServiceMetrics;
  readonly database: Database;
  /** What runs, in the order it was started; stopped in the reverse order. */
  readonly started: { stop(): Promise<void> | void }[];
}

async function assemble(foundation: Foundation): Promise<{ readonly url: string }> {
  const { config, logger, clock, metrics, database, started } = foundation;
  const channels = createChannels(foundation);
  const roster = createRoster(config.people);
  const servers = await connectServers(foundation);
  const catalog = new ToolCatalog(config, servers);
  const auditRecorder = createAuditRecorder(database);
  const readOnly = new ReadOnlyStore(database);
  const freezes = new FreezeStore(database);
  const core = await createCore(foundation, { channels, roster, catalog, freezes });
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
    mask: createArgumentMask(config.masked),
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
  metrics.observe('countersign_active_runs', 'Runs that this process works on', engine.activeRuns);
  return { url };
}

/** How long the start waits for servers that list their tools: runs that are taken up again shall find them. */
const FIRST_LISTING_WITHIN_MS = 5_000;

/** Servers of tools, connected in the background: one that is down, or slow, keeps nothing else from starting. */
async function connectServers({
  config,
  clock,
  logger,
  database,
  started,
}: Foundation): Promise<readonly McpConnector[]> {
  const listings = createMcpListingStore(database);
  const servers = config.connectors.flatMap((connector) =>
    connector.kind === 'mcp' ? [new McpConnector(connector, { config, clock, logger, listings })] : [],
  );
  for (const server of servers) {
    await server.start();
    started.push(server);
  }
  if (servers.length === 0) return servers;
  const listed = Promise.all(servers.map(({ firstAttempt }) => firstAttempt));
  await Promise.race([listed, sleep(clock, FIRST_LISTING_WITHIN_MS)]);
  return servers;
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

interface Core {
  readonly ledger: ConfirmationLedger;
  readonly reach: Reach;
  readonly confirmations: ConfirmationService;
  readonly refusals: RefusalRecorder;
  readonly gate: ConfirmationGate;
}

async function createCore(
  { config, logger, clock, metrics, database, started }: Foundation,
  parts: {
    readonly channels: ReadonlyMap<ChannelId, Channel>;
    readonly roster: Roster;
    readonly catalog: ToolCatalog;
    readonly freezes: Freezes;
  },
): Promise<Core> {
  const survive = (part: Parameters<ServiceMetrics['survived']>[0]) => (error: unknown) => {
    metrics.survived(part);
    logger.warn({ err: error, part }, 'a fault that the next round makes up for');
  };
  const ledger = createConfirmationLedger({
    database,
    onNotifyFailed: survive('notify'),
    onUnreadable: (error) => logger.error({ err: error }, 'a list leaves out a request'),
  });
  const waiter = new ConfirmationWaiter({
    ledger,
    signals: database.notifier,
    clock,
    onPollFailed: survive('waiter'),
  });
  const reach = createReach(config, parts.channels);
  const sweeper = new Sweeper({ ledger, reach, clock, onFailed: survive('sweeper') });
  const sequencer = new AuditSequencer({ database, clock, onError: survive('sequencer') });
  const freezeCards = new FreezeCards({
    port: createFreezeCardStore(database),
    clock,
    onFailed: survive('sweeper'),
  });
  for (const part of [sequencer, waiter, sweeper, freezeCards]) {
    part.start();
    started.push(part);
  }
  metrics.observe('countersign_waits', 'Requests that this process waits for', () => waiter.size);
  const { roster, catalog: toolFacts } = parts;
  const asking = {
    configRevision: config.revision,
    ledger,
    people: roster,
    policies: createPolicyEvaluator(config),
    toolFacts,
    reach,
    verificationKey: await serviceSecret(database, 'verification-code'),
  };
  const owners = new Map<string, Config['agents'][number]['owner']>(
    config.agents.map((agent) => [agent.id, agent.owner]),
  );
  const refusals = createRefusalStore(database);
  return {
    ledger,
    reach,
    refusals,
    confirmations: createConfirmationService({
      ...asking,
      waiter,
      clock,
      refusals,
      freezes: parts.freezes,
      deliveriesOf: (ids) => deliveriesOf(database.connection, ids),
    }),
    gate: createConfirmationGate({
      ...asking,
      organization: config.organization,
      mask: createArgumentMask(config.masked),
      ownerOf: (agent) => owners.get(agent) ?? null,
    }),
  };
}

function createAgents(
  { config, logger, clock, database }: Foundation,
  parts: Core & { readonly roster: Roster; readonly catalog: ToolCatalog; readonly readOnly: ReadOnlyStore },
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

function startDeliveries(
  { config, logger, clock, metrics, database, started }: Foundation,
  parts: Core & {
    readonly freezes: Freezes;
    readonly channels: ReadonlyMap<ChannelId, Channel>;
    readonly publicUrl: string;
  },
): void {
  const { ledger, reach, confirmations, freezes, channels, publicUrl } = parts;
  const paces = new ChatPaces(clock);
  const mask = createArgumentMask(config.masked);
  const worker = new DeliveryWorker({
    outbox: createDeliveryOutbox(database),
    cards: createCardSource({ confirmations, freezes, timeZone: config.timeZone, publicUrl, mask }),
    channels: [...channels.values()],
    paces,
    wakeUps: {
      onDelivery: (run) => database.notifier.subscribe('confirmation', run),
      onReconnect: (run) => database.notifier.onReconnect(run),
    },
    endUnreached: (found) => endUnreached(found, { ledger, reach }),
    metrics: metrics.deliveries,
    clock,
    logger,
  });
  const reminders = new ReminderWorker({
    outbox: createReminderOutbox(database),
    channels: [...channels.values()],
    paces,
    async textOf({ confirmationId, kind, locale }) {
      const request = await confirmations.get(confirmationId);
      if (request === null) return null;
      const freeze = freezeOf(request, await freezes.active());
      return reminderText({ request, freeze, kind, locale, timeZone: config.timeZone, publicUrl, mask });
    },
    clock,
    logger,
  });
  for (const part of [worker, reminders]) {
    part.start();
    started.push(part);
  }
}

async function listen(app: HttpApp, address: Config['listen']): Promise<string> {
  return app.listen({ host: address.host, port: address.port });
}
