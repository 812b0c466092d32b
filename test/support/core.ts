import type { ChannelAddress } from '../../src/channel/channel.ts';
import type { ChannelIdentity } from '../../src/channel/channel-kind.ts';
import { systemClock } from '../../src/clock.ts';
import type { AbsenceConfig } from '../../src/config/config.ts';
import type { Reach } from '../../src/confirmation/card-places.ts';
import type { ConfirmationService } from '../../src/confirmation/confirmation-service.ts';
import { createConfirmationService } from '../../src/confirmation/create-confirmation-service.ts';
import { FreezeCards } from '../../src/confirmation/freeze-cards.ts';
import type { ConfirmationGate, GateAnswer } from '../../src/confirmation/gate.ts';
import type { ConfirmationLedger } from '../../src/confirmation/ledger.ts';
import type { DecidingPolicy, PolicyAnswer } from '../../src/confirmation/policy-evaluator.ts';
import { createConfirmationGate } from '../../src/confirmation/request-confirmation.ts';
import { Sweeper } from '../../src/confirmation/sweeper.ts';
import { ConfirmationWaiter } from '../../src/confirmation/waiter.ts';
import { createConfirmationLedger } from '../../src/db/confirmation-ledger.ts';
import type { Database } from '../../src/db/database.ts';
import { createFreezeCardStore } from '../../src/db/freeze-card-store.ts';
import { FreezeStore } from '../../src/db/freeze-store.ts';
import { createRefusalStore } from '../../src/db/refusal-store.ts';
import type { HookContext } from '../../src/hook/hook-context.ts';
import {
  agentId,
  type ChannelId,
  type ConfirmationId,
  channelId,
  type PersonId,
  personId,
} from '../../src/ids.ts';
import type { JsonObject } from '../../src/json.ts';

export const person = (id: string): PersonId => personId(id);

/** Everybody the tests know; the first four approve. `Core.inactive` holds those who have left since. */
export const PEOPLE = ['li.wei', 'wang.fang', 'zhao.min', 'chen.jie', 'owner'];

/** As many further approvers as a race needs: `voter-0`, `voter-1`, … */
export const voters = (count: number): PersonId[] =>
  Array.from({ length: count }, (_, index) => personId(`voter-${index}`));

const isKnown = (id: string) => PEOPLE.includes(id) || /^voter-\d+$/.test(id);

export const POLICY: DecidingPolicy = {
  id: 'large-payment',
  named: [],
  approvers: PEOPLE.slice(0, 4).map(personId),
  quorum: 1,
  allowSelfApproval: false,
  channels: [channelId('pay-slack')],
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
  excludedPeople: [],
  floor: false,
};

const ADDRESSES = new Map<ChannelId, ChannelAddress>([
  [channelId('pay-slack'), { provider: 'slack', app: 'A0', tenant: 'T0', chat: 'C0' }],
  [channelId('pay-feishu'), { provider: 'feishu', app: 'cli_0', tenant: 't0', chat: 'oc_0' }],
]);

/** What a test changes of the usual call. */
export type CallChanges = Partial<Omit<HookContext, 'metadata'>> & {
  readonly metadata?: Partial<HookContext['metadata']>;
};

export interface Core {
  readonly service: ConfirmationService;
  readonly ledger: ConfirmationLedger;
  readonly reach: Reach;
  /** The accounts of people on the chat platforms; nobody has one unless a test says so. */
  readonly accounts: Map<string, readonly ChannelIdentity[]>;
  readonly gate: ConfirmationGate;
  readonly sweeper: Sweeper;
  readonly freezes: FreezeStore;
  readonly freezeCards: FreezeCards;
  readonly waiter: ConfirmationWaiter;
  readonly inactive: Set<string>;
  /** Who is away in the configuration of the moment. */
  readonly absences: Map<string, AbsenceConfig>;
  readonly versions: Map<string, string | null>;
  /** Tools that may run again under the same key. */
  readonly idempotent: Set<string>;
  /** The rule that applies to the next calls. */
  policy: DecidingPolicy;
  match: (() => PolicyAnswer) | null;
  ask(args: JsonObject, changes?: CallChanges): Promise<GateAnswer>;
  /** Asks and returns the id of the pending request. */
  pending(args?: JsonObject, changes?: CallChanges): Promise<ConfirmationId>;
  stop(): void;
}

/** The real core on a real database; only people, rule and tools are given by the test. */
export function startCore(database: Database): Core {
  const inactive = new Set<string>();
  const absences = new Map<string, AbsenceConfig>();
  const versions = new Map<string, string | null>();
  const accounts = new Map<string, readonly ChannelIdentity[]>();
  const reach: Reach = {
    addressOf: (channel) => ADDRESSES.get(channel) ?? null,
    accountsOf: (id) => (inactive.has(id) ? [] : (accounts.get(id) ?? [])),
  };
  const idempotent = new Set<string>();
  const people = {
    byId: (id: string) => (isKnown(id) ? { id: person(id), name: id, active: !inactive.has(id) } : null),
    absenceOf: (id: string) => absences.get(id) ?? null,
  };
  const ledger = createConfirmationLedger({ database, onNotifyFailed: () => {} });
  const toolFacts = {
    versionOf: (tool: string) => versions.get(tool) ?? null,
    timeoutMsOf: () => null,
    isIdempotent: (tool: string) => idempotent.has(tool),
    isUnlisted: () => false,
    decisiveFieldsOf: () => [],
  };
  const waiter = new ConfirmationWaiter({
    ledger,
    signals: database.notifier,
    clock: systemClock,
    onPollFailed: () => {},
  });
  waiter.start();
  const asking = {
    configRevision: 'test',
    ledger,
    people,
    policies: {
      evaluate: (): PolicyAnswer => core.match?.() ?? { kind: 'policy', policy: core.policy },
    },
    toolFacts,
    reach,
    verificationKey: 'key of the tests',
  };
  const core: Core = {
    ledger,
    reach,
    accounts,
    inactive,
    absences,
    versions,
    idempotent,
    waiter,
    policy: POLICY,
    match: null,
    freezes: new FreezeStore(database),
    freezeCards: new FreezeCards({
      port: createFreezeCardStore(database),
      clock: systemClock,
      onFailed: () => {},
    }),
    sweeper: new Sweeper({ ledger, reach, clock: systemClock, onFailed: () => {} }),
    service: createConfirmationService({
      ...asking,
      waiter,
      clock: systemClock,
      refusals: createRefusalStore(database),
      freezes: new FreezeStore(database),
      deliveriesOf: async () => new Map(),
    }),
    gate: createConfirmationGate({ ...asking, organization: 'acme', ownerOf: () => person('owner') }),
    ask: (args, changes = {}) =>
      core.gate.ask({
        context: contextOf(args, changes),
        confirmationForAll: false,
        signal: new AbortController().signal,
      }),
    async pending(args = { amount: '68000.00', currency: 'CNY', payee: 'Acme' }, changes) {
      const answer = await core.ask(args, changes);
      if (answer.kind !== 'pending') throw new Error(`Expected a pending request, got ${answer.kind}`);
      return answer.confirmationId;
    },
    stop: () => waiter.stop(),
  };
  return core;
}

function contextOf(args: JsonObject, changes: CallChanges): HookContext {
  return {
    toolName: 'bank__transfer',
    toolArgs: args,
    agentId: agentId('procurement'),
    userId: person('zhao.min'),
    sessionId: null,
    runId: null,
    ...changes,
    metadata: {
      organization: 'acme',
      conversation: null,
      connector: null,
      toolVersion: null,
      writes: true,
      requiresConfirmation: true,
      invocationId: null,
      callId: null,
      parentRunId: null,
      evaluation: false,
      ask: null,
      ...changes.metadata,
    },
  };
}
