import type { ConfirmationId } from '../ids.ts';
import type { Locale } from '../locale.ts';
import type { Card } from './card.ts';

/** Draws a request as it stands at this moment; the core implements it. Null where there is no such request. */
export interface CardSource {
  read(input: {
    readonly confirmationId: ConfirmationId;
    readonly locale: Locale;
    readonly view: CardView;
    /** Another message takes its place: it shows what it is about, and no buttons. */
    readonly moved: boolean;
  }): Promise<Card | null>;
}

/**
 * How much a card shows; each step is for a platform that refused the one before. `decisive-only`: what decides and
 * our own words. `withheld`: none of the arguments, so it cannot approve.
 */
export const CARD_VIEWS = ['whole', 'decisive-only', 'withheld'] as const;
export type CardView = (typeof CARD_VIEWS)[number];
