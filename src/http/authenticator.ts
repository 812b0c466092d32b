import { createHash } from 'node:crypto';
import type { Config, PersonConfig } from '../config/config.ts';
import { compileGlobs } from '../glob.ts';
import type { PersonPrincipal, Principal } from './principal.ts';

/** Finds out whose key it is that a caller holds. */
export interface Authenticator {
  /** Null: nobody's key. */
  principalOf(key: string): Principal | null;
}

/**
 * Keys are looked up by their SHA-256: the time a look-up takes depends on the digest, which tells nothing about how
 * much of a key was right. Throws where two entries share one key, because then nobody could say who called.
 */
export function createAuthenticator(config: Pick<Config, 'apiKeys' | 'people'>): Authenticator {
  const principals = new Map<string, Principal>();
  const add = (key: string, principal: Principal) => {
    const digest = digestOf(key);
    if (principals.has(digest))
      throw new Error(`Two entries of the configuration share one key: ${nameOf(principal)}`);
    principals.set(digest, principal);
  };
  for (const { id, key, role, agents, requesters } of config.apiKeys) {
    add(key, {
      type: 'key',
      id,
      role,
      // An admin's key starts what any agent may; whom it may name stays as listed.
      speaksFor: role === 'admin' ? () => true : compileGlobs(agents),
      mayName: compileGlobs(requesters),
    });
  }
  for (const person of config.people) {
    if (person.consoleKey !== null) add(person.consoleKey, personPrincipal(person));
  }
  return { principalOf: (key) => principals.get(digestOf(key)) ?? null };
}

export function personPrincipal({ id, name, roles, active }: PersonConfig): PersonPrincipal {
  return { type: 'person', person: { id, name }, roles, active };
}

const digestOf = (key: string) => createHash('sha256').update(key, 'utf8').digest('hex');

const nameOf = (principal: Principal) => (principal.type === 'key' ? principal.id : principal.person.id);
