import type { AbsenceConfig } from '../config/config.ts';
import type { PersonRef } from './confirmation-request.ts';

/** The people of the configuration that is in force now; the roster implements it. */
export interface PersonDirectory {
  byId(id: string): (PersonRef & { readonly active: boolean }) | null;
  /** When the person is not counted on, and who stands in; null: never, or nobody of this id. */
  absenceOf(id: string): AbsenceConfig | null;
}
