import type { ConfirmationId } from '../ids.ts';
import { cancel } from './cancel.ts';
import { claim } from './claim.ts';
import type { ConfirmationService } from './confirmation-service.ts';
import { decide } from './decide.ts';
import type { DeliveryRecord } from './delivery-record.ts';
import { explainRequest } from './explain-request.ts';
import type { ConfirmationLedger } from './ledger.ts';
import { recordOutcome } from './outcome.ts';
import type { RerunPorts } from './rerun.ts';
import { revoke } from './revoke.ts';
import { settle } from './settle.ts';
import type { ConfirmationWaiter } from './waiter.ts';

/** Puts the core's functions behind the one door that surfaces use. */
export function createConfirmationService(
  ports: RerunPorts & {
    readonly ledger: ConfirmationLedger;
    readonly waiter: ConfirmationWaiter;
    readonly deliveriesOf: (
      ids: readonly ConfirmationId[],
    ) => Promise<ReadonlyMap<ConfirmationId, readonly DeliveryRecord[]>>;
  },
): ConfirmationService {
  return {
    get: (id) => ports.ledger.find(id),
    findByIdempotencyKey: (apiKeyId, key) => ports.ledger.findByIdempotencyKey(apiKeyId, key),
    async explain(id) {
      const request = await ports.ledger.find(id);
      if (request === null) return null;
      const frozen = await ports.ledger.explanationOf(id);
      return explainRequest({ request, frozen, people: ports.people });
    },
    deliveriesOf: ports.deliveriesOf,
    list: (filter) => ports.ledger.list(filter),
    wait: (input) => ports.waiter.wait(input),
    decide: (input) => decide(input, ports),
    revoke: (input) => revoke(input, ports),
    cancel: (input) => cancel(input, ports),
    claim: (input) => claim(input, ports),
    recordOutcome: (input) => recordOutcome(input, ports),
    settle: (input) => settle(input, ports),
  };
}
