import type { ConfirmationId } from '../ids.ts';
import { cancel } from './cancel.ts';
import { claim } from './claim.ts';
import type { ConfirmationService } from './confirmation-service.ts';
import { createDecisionLanes } from './decision-lanes.ts';
import type { DeliveryRecord } from './delivery-record.ts';
import { explainRequest } from './explain-request.ts';
import type { Freezes } from './freeze.ts';
import type { ConfirmationLedger } from './ledger.ts';
import { recordOutcome } from './outcome.ts';
import { refusedRevocation, refusedSettlement, refusedVote } from './refused-acts.ts';
import type { RefusalRecorder, RefusedAttempt } from './refused-attempt.ts';
import type { RerunPorts } from './rerun.ts';
import { revoke } from './revoke.ts';
import { settle } from './settle.ts';
import type { ConfirmationWaiter } from './waiter.ts';

/**
 * Puts the core's functions behind the one door that surfaces use. Who is refused something by it is told so once that is
 * on the record, in a transaction of its own: it changes nothing that it could disagree with.
 */
export function createConfirmationService(
  ports: RerunPorts & {
    readonly ledger: ConfirmationLedger;
    readonly waiter: ConfirmationWaiter;
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
  const decide = createDecisionLanes(ports);
  return {
    get: (id) => ports.ledger.find(id),
    findByIdempotencyKey: (apiKeyId, key) => ports.ledger.findByIdempotencyKey(apiKeyId, key),
    async explain(id) {
      const request = await ports.ledger.find(id);
      if (request === null) return null;
      const frozen = await ports.ledger.explanationOf(id);
      const freezes = await ports.freezes.active();
      return explainRequest({ request, frozen, people: ports.people, freezes });
    },
    deliveriesOf: ports.deliveriesOf,
    list: (filter) => ports.ledger.list(filter),
    wait: (input) => ports.waiter.wait(input),
    async decide(input) {
      const outcome = await decide(input);
      return keep(outcome, refusedVote(input, outcome, ports.people));
    },
    async revoke(input) {
      const outcome = await revoke(input, ports);
      return keep(outcome, refusedRevocation(input, outcome, ports.people));
    },
    cancel: (input) => cancel(input, ports),
    claim: (input) => claim(input, ports),
    recordOutcome: (input) => recordOutcome(input, ports),
    async settle(input) {
      const outcome = await settle(input, ports);
      return keep(outcome, refusedSettlement(input, outcome, ports.people));
    },
  };
}
