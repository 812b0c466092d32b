import type { CardFact } from './card.ts';
import { onOneLine } from './one-line.ts';

/** Label and value of a card on one line. */
export const factLine = ({ label, value }: CardFact): string => `${onOneLine(label)}: ${onOneLine(value)}`;
