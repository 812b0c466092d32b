import { CountersignError } from '../errors.ts';
import { type ConfirmationId, type PersonId, parseConfirmationId } from '../ids.ts';
import { notFound } from './outcome-errors.ts';
import type { Principal } from './principal.ts';

/** The request that a path names. Throws `not_found` where that is no id. */
export function idOf(text: string): ConfirmationId {
  const id = parseConfirmationId(text);
  if (!id) throw notFound('confirmation');
  return id;
}

/** Who acts, where only people may. */
export function personOf(principal: Principal): PersonId {
  if (principal.type !== 'person') throw new CountersignError('forbidden', 'Only people do this.');
  return principal.person.id;
}
