import type { ApiRole, PersonRole } from '../config/config.ts';
import type { PersonRef } from '../confirmation/confirmation-request.ts';
import type { ApiKeyId } from '../ids.ts';

/** Who calls: a program under an API key, or a person under their own key. Only people vote. */
export type Principal = KeyPrincipal | PersonPrincipal;

export interface KeyPrincipal {
  readonly type: 'key';
  readonly id: ApiKeyId;
  readonly role: ApiRole;
  /** Whether this key speaks for the agent. */
  readonly speaksFor: (agent: string) => boolean;
  /** Whether it may name the person as the one it asks for. */
  readonly mayName: (person: string) => boolean;
}

export interface PersonPrincipal {
  readonly type: 'person';
  readonly person: PersonRef;
  readonly roles: readonly PersonRole[];
  /** An inactive person is known and refused everywhere. */
  readonly active: boolean;
}
