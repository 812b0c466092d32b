import { closest, distance } from 'fastest-levenshtein';

/** Longer than any name that somebody meant; keeps the search short. */
const LONGEST_NAME = 100;

/** Of the `known` names the one that was probably meant, with at most half of it mistyped; null where none is near. */
export function nearName(name: string, known: readonly string[]): string | null {
  if (known.length === 0) return null;
  const meant = name.slice(0, LONGEST_NAME);
  const near = closest(meant, known);
  return distance(meant, near) <= meant.length / 2 ? near : null;
}
