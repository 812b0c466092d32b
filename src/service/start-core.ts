import type { ToolCatalog } from '../agent/tool-catalog.ts';
import type { Channel } from '../channel/channel.ts';
import type { Config } from '../config/config.ts';
import type { Reach } from '../confirmation/card-places.ts';
import type { ConfirmationService } from '../confirmation/confirmation-service.ts';
import { createConfirmationService } from '../confirmation/create-confirmation-service.ts';
import type { Freezes } from '../confirmation/freeze.ts';
import { FreezeCards } from '../confirmation/freeze-cards.ts';
import type { ConfirmationGate } from '../confirmation/gate.ts';
import type { ConfirmationLedger } from '../confirmation/ledger.ts';
import { createPolicyEvaluator } from '../confirmation/policy-evaluator.ts';
import type { RefusalRecorder } from '../confirmation/refused-attempt.ts';
import { createConfirmationGate } from '../confirmation/request-confirmation.ts';
import type { Roster } from '../confirmation/roster.ts';
import { Sweeper } from '../confirmation/sweeper.ts';
import { ConfirmationWaiter } from '../confirmation/waiter.ts';
import { AuditSequencer } from '../db/audit-sequencer.ts';
import { createConfirmationLedger } from '../db/confirmation-ledger.ts';
import { deliveriesOf } from '../db/delivery-store.ts';
import { createFreezeCardStore } from '../db/freeze-card-store.ts';
import { createRefusalStore } from '../db/refusal-store.ts';
import { serviceSecret } from '../db/service-secret.ts';
import type { ChannelId } from '../ids.ts';
import type { Foundation } from './foundation.ts';
import type { ServiceMetrics } from './metrics.ts';
import { createReach } from './reach.ts';

/** The confirmation core on its database: what surfaces, agents and deliveries share. */
export interface Core {
  readonly ledger: ConfirmationLedger;
  readonly reach: Reach;
  readonly confirmations: ConfirmationService;
  readonly refusals: RefusalRecorder;
  readonly gate: ConfirmationGate;
}

/** Starts what the core does by itself: expiry, the waits of this process, the order of the record, cards of freezes. */
export async function startCore(
  { config, logger, clock, metrics, database, mask, started }: Foundation,
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
  const ledger = createConfirmationLedger({ database, onNotifyFailed: survive('notify') });
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
      mask,
      ownerOf: (agent) => owners.get(agent) ?? null,
    }),
  };
}
