import type { AuditRecorder } from '../audit/audit-event.ts';
import type { Clock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import { createArgumentMask } from '../confirmation/argument-mask.ts';
import type { ConfirmationService } from '../confirmation/confirmation-service.ts';
import { type ConfirmationId, newEventId } from '../ids.ts';
import { AgentDirectory, type HookSources } from './agent-directory.ts';
import { createCallAuthorizer } from './authorize-call.ts';
import { giveUpRun } from './give-up-run.ts';
import type { AgentLogger } from './invoke-ports.ts';
import type { RerunStore } from './rerun-store.ts';
import { RerunWorker } from './rerun-worker.ts';
import { type Resuming, RunPool } from './run-pool.ts';
import type { CallAuthorizer, RunService } from './run-service.ts';
import type { RunSignals, RunStore, SessionStore } from './run-store.ts';
import { RunWatcher } from './run-watcher.ts';
import { type RunWorkerPorts, workThrough } from './run-worker.ts';
import { Runs } from './runs.ts';
import type { ToolCatalog } from './tool-catalog.ts';

export interface AgentEnginePorts extends HookSources {
  readonly config: Config;
  readonly catalog: ToolCatalog;
  readonly store: RunStore;
  readonly reruns: RerunStore;
  readonly sessions: SessionStore;
  readonly signals: RunSignals;
  /** The database can be open in one process only: what another one left is taken up at once. */
  readonly exclusive: boolean;
  readonly confirmations: ConfirmationService;
  readonly audit: AuditRecorder;
  readonly clock: Clock;
  readonly logger: AgentLogger;
}

export interface AgentEngine {
  readonly runs: RunService;
  readonly authorizer: CallAuthorizer;
  /** What keeps agents from being set up, each fault in words; the service does not start with any. */
  readonly faults: readonly string[];
  /** How many runs this process works on. */
  readonly activeRuns: () => number;
  /** How many requests calls here wait for that could not be read at the last try. */
  readonly unreadRequests: () => number;
  /** Takes up the runs that nobody works on and begins to accept new ones. */
  start(): Promise<void>;
  /** Gives every run back as it stands; calls that are being sent come to their end first. */
  stop(): Promise<void>;
}

/** Puts the agent part together. Nothing runs before `start`. */
export function createAgentEngine(ports: AgentEnginePorts): AgentEngine {
  const { config, store, audit, clock, logger } = ports;
  const mask = createArgumentMask(config.masked);
  const unread = new Set<ConfirmationId>();
  const agents = new AgentDirectory(config, ports.catalog, ports, clock);
  const watcher = new RunWatcher(ports);
  const pool = new RunPool({
    owner: newEventId(),
    store,
    signals: ports.signals,
    clock,
    logger,
    exclusive: ports.exclusive,
    resuming: () => resumingBeside(ports.confirmations.votesUnderWay(), config.resumeAtOnce),
    work: (record, stop, place) => workThrough(record, stop, place, workerPorts),
    abandon: (record) => giveUpRun(record, workerPorts),
  });
  const runs = new Runs({ config, agents, store, pool, watcher, clock });
  const workerPorts: RunWorkerPorts = {
    organization: config.organization,
    parkAfterMs: config.parkAfterMs,
    agents,
    store,
    sessions: ports.sessions,
    signals: ports.signals,
    watcher,
    confirmations: ports.confirmations,
    audit,
    unread,
    mask,
    clock,
    logger,
    startChild: (child) => runs.startChild(child),
    cancel: (run) => runs.cancel(run),
  };
  const reruns = new RerunWorker({
    organization: config.organization,
    agents,
    store: ports.reruns,
    signals: ports.signals,
    confirmations: ports.confirmations,
    audit,
    unread,
    mask,
    clock,
    logger,
  });
  return {
    runs,
    authorizer: createCallAuthorizer({ ...ports, agents }),
    faults: agents.faults,
    activeRuns: () => pool.size,
    unreadRequests: () => unread.size,
    async start() {
      watcher.start();
      await pool.start();
      reruns.start();
    },
    async stop() {
      await Promise.all([pool.stop(), reruns.stop()]);
      watcher.stop();
    },
  };
}

/** So many votes are on their way where people decide one request after the other. */
const FEW_VOTES = 4;
/** However many notifications come, rows are looked for no more often than this. */
const REST_MS = 20;
/** How woken runs go on while more people than that wait for the answer to their vote. */
const BEHIND_VOTES: Resuming = { atOnce: 2, restMs: 200 };

/** A person waits three seconds at most for the answer to a tap; what is woken by it has waited for minutes. */
const resumingBeside = (votes: number, resumeAtOnce: number): Resuming =>
  votes <= FEW_VOTES
    ? { atOnce: resumeAtOnce, restMs: REST_MS }
    : { ...BEHIND_VOTES, atOnce: Math.min(BEHIND_VOTES.atOnce, resumeAtOnce) };
