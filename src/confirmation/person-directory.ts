import type { PersonRef } from './confirmation-request.ts';

/** The people of the configuration that is in force now; the roster implements it. */
export interface PersonDirectory {
  byId(id: string): (PersonRef & { readonly active: boolean }) | null;
}
