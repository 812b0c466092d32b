import type { ConfirmationId } from '../ids.ts';
import type { Locale } from '../locale.ts';
import type { Card } from './card.ts';

/** Draws a request as it stands at this moment; the core implements it. Null where there is no such request. */
export interface CardSource {
  read(input: { readonly confirmationId: ConfirmationId; readonly locale: Locale }): Promise<Card | null>;
}
