import type { PersonDirectory } from '../confirmation/person-directory.ts';
import { CountersignError } from '../errors.ts';
import { type PersonId, personId } from '../ids.ts';
import type { KeyPrincipal } from './principal.ts';

/** The agent, where this key speaks for it. */
export function checkedAgent(key: KeyPrincipal, agent: string): string {
  if (key.speaksFor(agent)) return agent;
  throw new CountersignError('agent_not_allowed', `The key ${key.id} does not speak for this agent.`);
}

/**
 * The person for whom a key asks: one that its list names and that exists. The list is looked at first, so that a key
 * that may name nobody cannot find out who there is. Null where it names nobody.
 */
export function checkedRequester(
  key: KeyPrincipal,
  requester: string | null,
  people: PersonDirectory,
): PersonId | null {
  if (requester === null) return null;
  if (!key.mayName(requester)) {
    throw new CountersignError('requester_not_allowed', `The key ${key.id} may not name this requester.`);
  }
  if (!people.byId(requester)) {
    throw new CountersignError('unknown_requester', 'There is no person with this id in the configuration.');
  }
  return personId(requester);
}
