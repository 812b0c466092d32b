import type { ApiRole, PersonRole } from '../config/config.ts';
import { CountersignError } from '../errors.ts';
import type { PersonPrincipal, Principal } from './principal.ts';

/** Which keys may call a route at all. What they then see of it is `visibility.ts`. */
export interface Access {
  readonly keys: readonly ApiRole[];
  /** `all`: everybody; otherwise people with one of these roles. */
  readonly people: 'all' | readonly PersonRole[];
}

const EVERY_KEY: readonly ApiRole[] = ['agent', 'operator', 'auditor', 'admin'];

/**
 * Operators read, cancel and switch; auditors read everything; admins do all but vote; agents see their own; only
 * people vote, so no key's role stands beside `vote`, `revoke` and `settle`.
 */
export const ACCESS = {
  ask: { keys: ['agent', 'admin'], people: [] },
  readConfirmation: { keys: EVERY_KEY, people: 'all' },
  listConfirmations: { keys: ['operator', 'auditor', 'admin'], people: 'all' },
  /** Who may approve and why is nothing for agents. */
  explain: { keys: ['operator', 'auditor', 'admin'], people: 'all' },
  claim: { keys: ['agent', 'admin'], people: [] },
  reportOutcome: { keys: ['agent', 'admin'], people: [] },
  /** A person without a role may cancel what they asked for themselves. */
  cancelConfirmation: { keys: ['agent', 'operator', 'admin'], people: 'all' },
  vote: { keys: [], people: 'all' },
  settle: { keys: [], people: 'all' },
  startRun: { keys: ['agent', 'admin'], people: ['admin'] },
  readRun: { keys: EVERY_KEY, people: 'all' },
  /** A person without a role may cancel what runs for them. */
  cancelRun: { keys: ['agent', 'operator', 'admin'], people: 'all' },
  readReadOnly: { keys: ['operator', 'auditor', 'admin'], people: 'all' },
  switchReadOnly: { keys: ['admin'], people: ['operator', 'admin'] },
  /** Both for the first and for the second person: a key without a person does neither. */
  freeze: { keys: [], people: ['operator', 'admin'] },
  readFreezes: { keys: ['operator', 'auditor', 'admin'], people: 'all' },
  revoke: { keys: [], people: 'all' },
  readAudit: { keys: ['auditor', 'admin'], people: ['auditor', 'admin'] },
} as const satisfies Record<string, Access>;

/** Throws `forbidden` or `inactive_person` unless this principal may call the route. */
export function assertAccess(principal: Principal, access: Access): void {
  if (principal.type === 'person' && !principal.active) {
    throw new CountersignError('inactive_person', `${principal.person.id} is not active.`);
  }
  const allowed =
    principal.type === 'key'
      ? access.keys.includes(principal.role)
      : access.people === 'all' || hasRole(principal, access.people);
  if (!allowed) throw new CountersignError('forbidden', `${describe(principal)} may not do this.`);
}

export const hasRole = (person: PersonPrincipal, roles: readonly PersonRole[]): boolean =>
  person.roles.some((role) => roles.includes(role));

const describe = (principal: Principal): string =>
  principal.type === 'key'
    ? `The key ${principal.id} with the role ${principal.role}`
    : `${principal.person.id}, with ${principal.roles.length > 0 ? `the roles ${principal.roles.join(', ')}` : 'no role'},`;
