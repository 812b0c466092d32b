import type { Clock } from '../clock.ts';
import type { ConfirmationId } from '../ids.ts';
import { cancel } from './cancel.ts';
import { claim } from './claim.ts';
import type { ConfirmationRequest } from './confirmation-request.ts';
import type { ConfirmationService } from './confirmation-service.ts';
import { createDecisionLanes } from './decision-lanes.ts';
import type { DeliveryRecord } from './delivery-record.ts';
import { explainRequest, type Moment } from './explain-request.ts';
import type { Freezes } from './freeze.ts';
import { readOnlyScope } from './gate-controls.ts';
import type { ConfirmationLedger } from './ledger.ts';
import { recordOutcome } from './outcome.ts';
import {
  refusedCancellation,
  refusedClaim,
  refusedOutcome,
  refusedRevocation,
  refusedSettlement,
  refusedVote,
} from './refused-acts.ts';
import type { RefusalRecorder, RefusedAttempt } from './refused-attempt.ts';
import type { RerunPorts } from './rerun.ts';
import { revoke } from './revoke.ts';
import { settle } from './settle.ts';
import type { ToolFacts } from './tool-facts.ts';
import type { ConfirmationWaiter } from './waiter.ts';

/**
 * Puts the core's functions behind the one door that surfaces use. Who is refused something by it is told so once that is
 * on the record, in a transaction of its own: it changes nothing that it could disagree with.
 */
export function createConfirmationService(
  ports: RerunPorts & {
    readonly ledger: ConfirmationLedger;
    readonly waiter: ConfirmationWaiter;
    readonly clock: Clock;
    readonly refusals: RefusalRecorder;
    readonly freezes: Pick<Freezes, 'active'>;
    readonly deliveriesOf: (
      ids: readonly ConfirmationId[],
    ) => Promise<ReadonlyMap<ConfirmationId, readonly DeliveryRecord[]>>;
  },
): ConfirmationService {
  const keep = async <Outcome>(outcome: Outcome, refused: RefusedAttempt | null): Promise<Outcome> => {
    if (refused !== null) await ports.refusals.record(refused);
    return outcome;
  };
  const lanes = createDecisionLanes(ports);
  return {
    get: (id) => ports.ledger.find(id),
    getClosed: async (ids) => (await ports.ledger.findClosed(ids)).closed,
    findByIdempotencyKey: (apiKeyId, key) => ports.ledger.findByIdempotencyKey(apiKeyId, key),
    async explain(id) {
      const request = await ports.ledger.find(id);
      if (request === null) return null;
      const frozen = await ports.ledger.explanationOf(id);
      const moment = await momentOf(request, ports);
      return explainRequest({ request, frozen, people: ports.people, moment });
    },
    deliveriesOf: ports.deliveriesOf,
    list: (filter) => ports.ledger.list(filter),
    wait: (input) => ports.waiter.wait(input),
    votesUnderWay: lanes.size,
    async decide(input) {
      const outcome = await lanes.decide(input);
      return keep(outcome, refusedVote(input, outcome, ports.people));
    },
    async revoke(input) {
      const outcome = await revoke(input, ports);
      return keep(outcome, refusedRevocation(input, outcome, ports.people));
    },
    async cancel(input) {
      const outcome = await cancel(input, ports);
      return keep(outcome, refusedCancellation(input, outcome));
    },
    async claim(input) {
      const outcome = await claim(input, ports);
      return keep(outcome, refusedClaim(input, outcome));
    },
    async recordOutcome(input) {
      const outcome = await recordOutcome(input, ports);
      return keep(outcome, refusedOutcome(input, outcome));
    },
    async settle(input) {
      const outcome = await settle(input, ports);
      return keep(outcome, refusedSettlement(input, outcome, ports.people));
    },
  };
}

async function momentOf(
  { id, tool, toolVersion }: ConfirmationRequest,
  ports: {
    readonly ledger: Pick<ConfirmationLedger, 'switchedCallOf' | 'controls'>;
    readonly freezes: Pick<Freezes, 'active'>;
    readonly toolFacts: ToolFacts;
  },
): Promise<Moment> {
  const call = await ports.ledger.switchedCallOf(id);
  return {
    freezes: await ports.freezes.active(),
    readOnly: call && readOnlyScope(call, await ports.ledger.controls()),
    // What nobody can say now is not called changed.
    toolVersion: ports.toolFacts.isUnlisted(tool) ? toolVersion : ports.toolFacts.versionOf(tool),
  };
}
