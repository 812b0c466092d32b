import { lapseInside } from './claim.ts';
import { surfaceName } from './confirmation-request.ts';
import type { RevokeInput, RevokeOutcome } from './confirmation-service.ts';
import { actorOf } from './decision-event.ts';
import type { ConfirmationLedger } from './ledger.ts';
import type { PersonDirectory } from './person-directory.ts';
import { revokeInside } from './revoke-inside.ts';
import { standingOf } from './rights.ts';

type RefusalCode = Extract<RevokeOutcome, { kind: 'refused' }>['code'];

/**
 * One approver takes an approval back: during the cool-off, and after it until somebody claims. The request's lock
 * orders it against every claim, so exactly one of the two happens. Whoever may reject may revoke: it only stops.
 * Repeating it changes nothing.
 */
export function revoke(
  input: RevokeInput,
  ports: { readonly ledger: ConfirmationLedger; readonly people: PersonDirectory },
): Promise<RevokeOutcome> {
  return ports.ledger.transact(async (transaction) => {
    const locked = await transaction.lock(input.id);
    if (!locked) return { kind: 'not-found' };
    const { request } = locked;
    const refuse = (code: RefusalCode, as = request): RevokeOutcome => ({
      kind: 'refused',
      code,
      request: as,
    });

    const person = ports.people.byId(input.person);
    const standing = standingOf(
      { person: input.person, verdict: 'reject' },
      { request, people: ports.people, now: locked.now },
    );
    if (standing.kind === 'refused') {
      return refuse(standing.code === 'inactive_person' ? 'inactive_person' : 'not_an_approver');
    }
    if (person === null) throw new Error('A person who is not in the directory passed the check of rights');
    if (request.status !== 'approved') return refuse('not_approved');
    switch (request.execution.status) {
      case 'revoked':
        return { kind: 'repeated', request };
      case 'lapsed':
        return refuse('lapsed');
      case 'unclaimed':
        break;
      default:
        return refuse('already_claimed');
    }
    if (locked.window === 'over') return refuse('lapsed', await lapseInside(transaction, request));

    const by = { id: person.id, name: person.name };
    const revoked = await revokeInside(transaction, request, {
      revocation: { detail: 'revoked', by, reason: input.reason?.trim() || null },
      actor: actorOf(by),
      channel: surfaceName(input.surface),
    });
    return { kind: 'revoked', request: revoked };
  });
}
