import type { ChannelActor } from '../channel/inbound-event.ts';
import type { AbsenceConfig, PersonConfig, PersonRole } from '../config/config.ts';
import type { PersonId } from '../ids.ts';
import type { PersonRef } from './confirmation-request.ts';

/** A person of the roster; only active ones may vote. */
export type RosterPerson = PersonRef & { readonly active: boolean };

export type ActorMatch =
  | { readonly kind: 'person'; readonly person: RosterPerson }
  | { readonly kind: 'unknown' }
  /** More than one person claims the account: nobody is taken for it. */
  | { readonly kind: 'ambiguous' };

/** Who is who: accounts on chat platforms are mapped to people, and everything counts people. */
export interface Roster {
  /** The one person behind a verified envelope's actor. A bot is `unknown`, whatever its ids say. */
  personOf(actor: ChannelActor): ActorMatch;
  /**
   * Whether the directory of `tenant` could say who an actor is whom `personOf` does not know: somebody's account
   * there is configured by no kind of id that the callback carries, or the callback names another tenant for them.
   */
  isResolvable(actor: ChannelActor, tenant: string): boolean;
  /** Null for an unknown id. */
  byId(id: PersonId): RosterPerson | null;
  /** Null for an unknown id and for somebody who is not away. */
  absenceOf(id: string): AbsenceConfig | null;
  /** False also for an unknown id. */
  isActive(id: PersonId): boolean;
  /** The display name; null for an unknown id. */
  nameOf(id: PersonId): string | null;
  /** The active people of a group, in the order of the configuration. */
  members(group: string): readonly PersonId[];
  /** Roles beside being an approver; none for an unknown or inactive person. */
  rolesOf(id: PersonId): readonly PersonRole[];
}

export function createRoster(people: readonly PersonConfig[]): Roster {
  const byId = new Map<string, PersonConfig>(people.map((person) => [person.id, person]));
  const byAccount = indexAccounts(people);

  return {
    personOf(actor) {
      if (actor.isBot) return { kind: 'unknown' };
      const claims = Object.entries(actor.ids).flatMap(
        ([idKind, id]) => byAccount.get(accountKey(actor.provider, actor.tenant, idKind, id)) ?? [],
      );
      // Two ids of two people in one envelope: also where one of them has another id in the configuration, so that
      // nobody can say which id is wrong.
      if (new Set(claims.map(({ person }) => person)).size > 1) return { kind: 'ambiguous' };
      const claim = claims.find(({ ids }) => agrees(ids, actor.ids));
      return claim ? { kind: 'person', person: rosterPerson(claim.person) } : { kind: 'unknown' };
    },
    isResolvable: (actor, tenant) =>
      !actor.isBot &&
      people.some(({ identities }) =>
        identities.some(
          (identity) =>
            identity.provider === actor.provider &&
            identity.tenant === tenant &&
            (actor.tenant !== tenant ||
              Object.keys(identity.ids).every((idKind) => !Object.hasOwn(actor.ids, idKind))),
        ),
      ),
    byId(id) {
      const person = byId.get(id);
      return person === undefined ? null : rosterPerson(person);
    },
    absenceOf: (id) => byId.get(id)?.away ?? null,
    isActive: (id) => byId.get(id)?.active === true,
    nameOf: (id) => byId.get(id)?.name ?? null,
    members: (group) =>
      people.filter((person) => person.active && person.groups.includes(group)).map((person) => person.id),
    rolesOf(id) {
      const person = byId.get(id);
      return person?.active === true ? person.roles : [];
    },
  };
}

const rosterPerson = ({ id, name, active }: PersonConfig): RosterPerson => ({ id, name, active });

interface Claim {
  readonly person: PersonConfig;
  readonly ids: Readonly<Record<string, string>>;
}

function indexAccounts(people: readonly PersonConfig[]): ReadonlyMap<string, readonly Claim[]> {
  const byAccount = new Map<string, Claim[]>();
  for (const person of people)
    for (const { provider, tenant, ids } of person.identities)
      for (const [idKind, id] of Object.entries(ids)) {
        const key = accountKey(provider, tenant, idKind, id);
        const claims = byAccount.get(key) ?? [];
        claims.push({ person, ids });
        byAccount.set(key, claims);
      }
  return byAccount;
}

// JSON keeps the parts apart: a tenant with a separator in it cannot pass for another account.
const accountKey = (...parts: readonly string[]): string => JSON.stringify(parts);

/** One id of the same kind that differs means another account, whatever the other ids say. */
const agrees = (
  configured: Readonly<Record<string, string>>,
  seen: Readonly<Record<string, string>>,
): boolean =>
  Object.entries(configured).every(([idKind, id]) => !Object.hasOwn(seen, idKind) || seen[idKind] === id);
