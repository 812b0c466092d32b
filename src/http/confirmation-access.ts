import type { FastifyRequest } from 'fastify';
import type { ConfirmationRequest } from '../confirmation/confirmation-request.ts';
import type { Actor, ConfirmationService } from '../confirmation/confirmation-service.ts';
import { type Freezes, freezeOf } from '../confirmation/freeze.ts';
import { parseConfirmationId } from '../ids.ts';
import { principalOf } from './authentication.ts';
import { type Audience, audienceOf, confirmationJson } from './confirmation-json.ts';
import { notFound } from './outcome-errors.ts';
import type { Principal } from './principal.ts';
import type { ConfirmationJson } from './schemas/confirmation-schema.ts';
import type { Visibility } from './visibility.ts';

/** How routes reach the requests that a caller may see. */
export interface ConfirmationAccess {
  /** Throws `not_found` for an id that is none, that nobody has, or that this key may not see: all three look alike. */
  find(request: FastifyRequest, id: string): Promise<ConfirmationRequest>;
  /**
   * For whom an error about this request is written; null where the caller may not see it, and learns from the answer
   * no more than that it may not.
   */
  audienceOf(request: FastifyRequest, confirmation: ConfirmationRequest): Promise<Audience | null>;
  /** The confirmation as the caller of `request` may see it. */
  show(request: FastifyRequest, confirmation: ConfirmationRequest): Promise<ConfirmationJson>;
  showAll(
    request: FastifyRequest,
    confirmations: readonly ConfirmationRequest[],
  ): Promise<ConfirmationJson[]>;
}

export function createConfirmationAccess({
  confirmations,
  visibility,
  freezes,
}: {
  readonly confirmations: Pick<ConfirmationService, 'get' | 'deliveriesOf'>;
  readonly visibility: Visibility;
  readonly freezes: Pick<Freezes, 'active'>;
}): ConfirmationAccess {
  const showAll: ConfirmationAccess['showAll'] = async (request, shown) => {
    const principal = principalOf(request);
    const audience = audienceOf(principal);
    const seesFollowed = await visibility.ofFollowed(principal, shown);
    const deliveries = await confirmations.deliveriesOf(shown.map(({ id }) => id));
    const frozen = await freezes.active();
    return shown.map((confirmation) =>
      confirmationJson({
        request: confirmation,
        deliveries: deliveries.get(confirmation.id) ?? [],
        frozen: freezeOf(confirmation, frozen) !== null,
        audience,
        seesFollowed: confirmation.follows !== null && seesFollowed.has(confirmation.follows.id),
      }),
    );
  };
  return {
    async find(request, id) {
      const parsed = parseConfirmationId(id);
      const found = parsed && (await confirmations.get(parsed));
      if (!found || !(await visibility.ofConfirmation(principalOf(request), found))) {
        throw notFound('confirmation');
      }
      return found;
    },
    async audienceOf(request, confirmation) {
      const principal = principalOf(request);
      return (await visibility.ofConfirmation(principal, confirmation)) ? audienceOf(principal) : null;
    },
    async show(request, confirmation) {
      const [shown] = await showAll(request, [confirmation]);
      if (!shown) throw new Error(`Confirmation ${confirmation.id} was not shown`);
      return shown;
    },
    showAll,
  };
}

/** Who acts on a request, as the record names them: an agent's key acts for the agent that asked. */
export const actorOf = (principal: Principal, confirmation: ConfirmationRequest): Actor =>
  principal.type === 'person'
    ? { type: 'person', person: principal.person }
    : {
        type: 'key',
        id: principal.id,
        agent: principal.role === 'agent' ? confirmation.agent : null,
      };
