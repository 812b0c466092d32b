import { CARD_TEXTS } from './card-texts.ts';
import type { DecisiveField } from './confirmation-request.ts';
import { maskSecrets } from './secret-shapes.ts';

/**
 * What an argument is called on a card: `/memo` reads `memo`, `/items/0/sku` reads `items[0].sku`. Whoever calls a
 * tool from outside chooses its keys, so whatever is not plainly a name, and whatever reads like a label of the card
 * itself, stays the JSON Pointer that it is. No two arguments of one call share a label, but for names that are shaped
 * like secrets, of which nothing is told.
 */
export const argumentLabel = (pointer: string, decisiveFields: readonly DecisiveField[]): string =>
  maskSecrets(labelOf(pointer, decisiveFields));

function labelOf(pointer: string, decisiveFields: readonly DecisiveField[]): string {
  const [first, ...rest] = pointer.slice(1).split('/');
  // An empty pointer names all arguments at once.
  if (pointer === '') return '/';
  if (first === undefined || !NAME.test(first)) return pointer;
  const name = first.toLowerCase();
  // `amount` may be called so where no other line of the card is the amount.
  if (OWN_LABELS.has(name) || decisiveFields.some(({ role }) => role === name)) return pointer;
  if (!rest.every((token) => NAME.test(token) || INDEX.test(token))) return pointer;
  return first + rest.map((token) => (INDEX.test(token) ? `[${token}]` : `.${token}`)).join('');
}

const NAME = /^[A-Za-z_][A-Za-z0-9_-]{0,59}$/;
const INDEX = /^\d{1,9}$/;

const OWN_LABELS: ReadonlySet<string> = new Set(
  Object.values(CARD_TEXTS)
    .flatMap(({ facts, outcome }) => [...Object.values(facts), ...Object.values(outcome)])
    .concat('Tool')
    .map((label) => label.toLowerCase()),
);
