import { eq } from 'drizzle-orm';
import { ConfirmationGateHook } from '../../hooks/confirmation-gate.ts';
import { type AgentEngine, createAgentEngine } from '../../src/agent/create-agent-engine.ts';
import type { PlanNode } from '../../src/agent/plan.ts';
import type { Run, RunEvent } from '../../src/agent/run.ts';
import type { StartRun } from '../../src/agent/run-service.ts';
import { ToolCatalog, type ToolSource } from '../../src/agent/tool-catalog.ts';
import type { AuditRecorder, NewAuditEvent } from '../../src/audit/audit-event.ts';
import { type Clock, systemClock } from '../../src/clock.ts';
import type { AgentConfig, Config } from '../../src/config/config.ts';
import type { ConfirmationRequest } from '../../src/confirmation/confirmation-request.ts';
import type { ConfirmationService } from '../../src/confirmation/confirmation-service.ts';
import { createConfirmationService } from '../../src/confirmation/create-confirmation-service.ts';
import type { ConfirmationGate } from '../../src/confirmation/gate.ts';
import { createPolicyEvaluator } from '../../src/confirmation/policy-evaluator.ts';
import { createConfirmationGate } from '../../src/confirmation/request-confirmation.ts';
import { createRoster } from '../../src/confirmation/roster.ts';
import { Sweeper } from '../../src/confirmation/sweeper.ts';
import { ConfirmationWaiter } from '../../src/confirmation/waiter.ts';
import { createAuditRecorder } from '../../src/db/audit-store.ts';
import { createConfirmationLedger } from '../../src/db/confirmation-ledger.ts';
import type { Database } from '../../src/db/database.ts';
import { FreezeStore } from '../../src/db/freeze-store.ts';
import { createRefusalStore } from '../../src/db/refusal-store.ts';
import { createRerunStore } from '../../src/db/rerun-store.ts';
import { createRunSignals } from '../../src/db/run-signals.ts';
import { createRunStore } from '../../src/db/run-store.ts';
import { auditEvents } from '../../src/db/schema/audit.ts';
import { createSessionStore } from '../../src/db/session-store.ts';
import type { AnyHookKind } from '../../src/hook/hook-kind.ts';
import type { HookPorts } from '../../src/hook/hook-ports.ts';
import { agentId, type ConfirmationId, personId, type RunId } from '../../src/ids.ts';
import type { JsonObject } from '../../src/json.ts';
import { createReach } from '../../src/service/reach.ts';
import { until } from '../support/until.ts';

export const ignoreLog = { info: () => {}, warn: () => {}, error: () => {} };

export interface RecordedEvent {
  readonly kind: string;
  readonly confirmation: string | null;
  readonly data: JsonObject;
}

/** One service process without its surfaces: the real core, the real stores, the real engine. */
export interface EngineFixture {
  readonly engine: AgentEngine;
  readonly confirmations: ConfirmationService;
  readonly audited: NewAuditEvent[];
  /** What the log was warned of: fields and message. */
  readonly warnings: (readonly [object, string])[];
  /** How many requests this process waits for. */
  readonly waits: () => number;
  /** Set by a test to break the gate. */
  gateFault: (() => Promise<void>) | null;
  /** Set by a test to break the record, before anything is written. */
  auditFault: (() => Promise<void>) | null;
  /** Set by a test to break a claim before it reaches the database. */
  claimFault: (() => void) | null;
  /** Set by a test to come between the claim and what follows. */
  afterClaim: (() => void) | null;
  start(input: Partial<StartRun> & { readonly agent: StartRun['agent'] }): Promise<Run>;
  finished(id: RunId): Promise<Run>;
  /** The pending requests of a run, in the order of its calls, once there are `count`. */
  asked(id: RunId, count?: number): Promise<ConfirmationRequest[]>;
  decide(id: ConfirmationId, verdict: 'approve' | 'reject', reason?: string): Promise<void>;
  events(id: RunId): Promise<RunEvent[]>;
  /** What the audit log holds about a run and its requests, in order. */
  recorded(id: RunId): Promise<RecordedEvent[]>;
  stop(): Promise<void>;
}

export async function startEngine(input: {
  readonly database: Database;
  readonly config: Config;
  readonly hookKinds?: readonly AnyHookKind[];
  readonly exclusive?: boolean;
  readonly clock?: Clock;
  /** Connectors that list their tools themselves. */
  readonly servers?: readonly ToolSource[];
}): Promise<EngineFixture> {
  const { database, config } = input;
  const catalog = new ToolCatalog(config, input.servers);
  const roster = createRoster(config.people);
  const ledger = createConfirmationLedger({
    database,
    onNotifyFailed: () => {},
    onUnreadable: () => {},
  });
  const reach = createReach(config, new Map());
  const waiter = new ConfirmationWaiter({
    ledger,
    signals: database.notifier,
    clock: systemClock,
    onPollFailed: () => {},
  });
  const sweeper = new Sweeper({ ledger, reach, clock: systemClock, onFailed: () => {} });
  const asking = {
    configRevision: config.revision,
    ledger,
    people: roster,
    policies: createPolicyEvaluator(config),
    toolFacts: catalog,
    reach,
    verificationKey: 'key of the tests',
  };
  const confirmations = createConfirmationService({
    ...asking,
    waiter,
    clock: systemClock,
    refusals: createRefusalStore(database),
    freezes: new FreezeStore(database),
    deliveriesOf: async () => new Map(),
  });
  const gate = createConfirmationGate({
    ...asking,
    organization: config.organization,
    ownerOf: (id) => config.agents.find((agent) => agent.id === id)?.owner ?? null,
  });
  const fixture: Pick<EngineFixture, 'gateFault' | 'auditFault' | 'claimFault' | 'afterClaim'> = {
    gateFault: null,
    auditFault: null,
    claimFault: null,
    afterClaim: null,
  };
  const recorder = createAuditRecorder(database);
  const audited: NewAuditEvent[] = [];
  const warnings: (readonly [object, string])[] = [];
  const audit: AuditRecorder = {
    async record(event) {
      await fixture.auditFault?.();
      await recorder.record(event);
      audited.push(event);
    },
  };

  const breakable: ConfirmationGate = {
    async ask(call) {
      await fixture.gateFault?.();
      return gate.ask(call);
    },
  };
  const engine = createAgentEngine({
    config,
    catalog,
    store: createRunStore({ database, clock: systemClock }),
    reruns: createRerunStore(database),
    sessions: createSessionStore(database),
    signals: createRunSignals(database),
    exclusive: input.exclusive ?? false,
    confirmations: {
      ...confirmations,
      async claim(claim) {
        fixture.claimFault?.();
        const outcome = await confirmations.claim(claim);
        fixture.afterClaim?.();
        return outcome;
      },
    },
    gateHookFor: (agent: AgentConfig | null) =>
      new ConfirmationGateHook({
        gate: breakable,
        confirmationForAll: agent?.requireConfirmationForAll ?? false,
      }),
    hookKinds: input.hookKinds ?? [],
    hookPorts: { clock: systemClock, locale: 'en-US', timeZone: 'UTC' } as unknown as HookPorts,
    audit,
    clock: input.clock ?? systemClock,
    logger: { ...ignoreLog, warn: (fields, message) => void warnings.push([fields, message]) },
  });
  waiter.start();
  sweeper.start();
  await engine.start();

  const finished = async (id: RunId): Promise<Run> => {
    const run = await engine.runs.wait({
      id,
      timeoutMs: 20_000,
      untilWaiting: false,
      signal: new AbortController().signal,
    });
    if (run?.finishedAt == null) throw new Error(`run ${id} is still ${run?.status}`);
    return run;
  };
  return Object.assign(fixture, {
    engine,
    confirmations,
    audited,
    warnings,
    waits: () => waiter.size,
    start: (start: Partial<StartRun> & { readonly agent: StartRun['agent'] }) =>
      engine.runs.start({
        input: 'Do it.',
        session: null,
        requester: null,
        requesterNamedByAgent: false,
        evaluation: false,
        plan: null,
        apiKeyId: 'key',
        ...start,
      }),
    finished,
    async asked(id: RunId, count = 1) {
      const run = await until(async () => {
        const current = await engine.runs.get(id);
        const waiting = current?.invocations.filter(({ status }) => status === 'waiting') ?? [];
        return waiting.length >= count ? current : null;
      });
      const ids = run.invocations.flatMap(({ status, confirmation }) =>
        status === 'waiting' && confirmation !== null ? [confirmation] : [],
      );
      const requests = await Promise.all(ids.map((confirmation) => confirmations.get(confirmation)));
      return requests.filter((request) => request !== null);
    },
    async decide(id: ConfirmationId, verdict: 'approve' | 'reject', reason: string | null = null) {
      const outcome = await confirmations.decide({
        id,
        person: personId('li.wei'),
        verdict,
        reason,
        argsDigest: null,
        surface: { kind: 'api' },
      });
      if (outcome.kind !== 'recorded') throw new Error(`the decision was ${outcome.kind}`);
    },
    async events(id: RunId) {
      const events: RunEvent[] = [];
      for await (const event of engine.runs.events({ id, afterSeq: 0, signal: AbortSignal.timeout(20_000) }))
        events.push(event);
      return events;
    },
    async recorded(id: RunId) {
      const rows = await database.connection
        .select({ kind: auditEvents.kind, confirmation: auditEvents.confirmationId, data: auditEvents.data })
        .from(auditEvents)
        .where(eq(auditEvents.runId, id))
        .orderBy(auditEvents.at, auditEvents.id);
      return rows as RecordedEvent[];
    },
    async stop() {
      await engine.stop();
      waiter.stop();
      await sweeper.stop();
    },
  });
}

export const toolNode = (
  id: string,
  tool: string,
  args: Extract<PlanNode, { kind: 'tool' }>['args'] = {},
  changes: Partial<Pick<PlanNode, 'dependsOn' | 'onRejected'>> = {},
): PlanNode => ({ kind: 'tool', id, tool, args, dependsOn: [], onRejected: 'fail', ...changes });

export const agentNode = (
  id: string,
  agent: string,
  dependsOn: string[] = [],
  input = 'Do your part.',
): PlanNode => ({
  kind: 'agent',
  id,
  agent: agentId(agent),
  input,
  dependsOn,
  onRejected: 'fail',
});
