import { compileGlob } from '../glob.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import type { DecisiveField } from './confirmation-request.ts';
import { pointerOf } from './json-pointer.ts';
import { MASK, maskCardNumbers, maskSecrets, namesSecret } from './secret-shapes.ts';

/** Which arguments are never shown: by the operator's list, by their names, and by what their values look like. */
export interface ArgumentMask {
  /** Whether what this pointer names, with all that lies in it, is secret by its name or by the list. */
  hides(pointer: string): boolean;
}

/**
 * `listed`: entries of `masked` in the configuration. One that begins with `/` is a glob over JSON Pointers, every other
 * one a glob over the names of keys at any depth, in whatever case.
 */
export function createArgumentMask(listed: readonly string[]): ArgumentMask {
  const pointers = listed.filter((entry) => entry.startsWith('/')).map(compileGlob);
  const names = listed
    .filter((entry) => !entry.startsWith('/'))
    .map((entry) => compileGlob(entry.toLowerCase()));
  return {
    hides(pointer) {
      const key = pointer
        .slice(pointer.lastIndexOf('/') + 1)
        .replaceAll('~1', '/')
        .replaceAll('~0', '~');
      return (
        namesSecret(key) ||
        names.some((glob) => glob.matches(key.toLowerCase())) ||
        pointers.some((glob) => glob.matches(pointer))
      );
    },
  };
}

/** The mask of a configuration that lists nothing. */
export const MASK_BY_SHAPE = createArgumentMask([]);

export interface MaskedArguments {
  readonly args: JsonObject;
  /** JSON Pointers of what was masked, in whole or in part. */
  readonly masked: readonly string[];
  /** Masks what is shaped like a secret in words beside the arguments, and secrets of these arguments repeated there. */
  readonly maskText: (text: string) => string;
}

/** Shorter values would be found in ordinary words. */
const SHORTEST_ECHO = 8;
const MOST_ECHOES = 50;

/**
 * The arguments as they may be shown. Names of keys and the shape of the whole stay; what is stored, digested and run
 * is never touched. Card numbers are left where a field decides: the account to pay to looks the same.
 */
export function maskArguments(
  args: JsonObject,
  decisiveFields: readonly DecisiveField[],
  mask: ArgumentMask,
): MaskedArguments {
  const masked: string[] = [];
  const secrets = [...secretsIn(args, mask)].sort((left, right) => right.length - left.length);
  const maskText = (text: string): string =>
    maskCardNumbers(maskSecrets(secrets.reduce((rest, secret) => rest.replaceAll(secret, MASK), text)));
  const decides = (pointer: string): boolean =>
    decisiveFields.some((field) => pointer === field.pointer || pointer.startsWith(`${field.pointer}/`));

  const shown = (value: JsonValue, pointer: string, hidden: boolean): JsonValue => {
    if (Array.isArray(value)) return value.map((item, index) => shownAt(item, `${pointer}/${index}`, hidden));
    if (value !== null && typeof value === 'object')
      return Object.fromEntries(
        Object.entries(value).map(([key, item]) => [key, shownAt(item, pointer + pointerOf(key), hidden)]),
      );
    if (value === null || typeof value === 'boolean' || value === '') return value;
    if (hidden) return MASK;
    const text = String(value);
    const rest = decides(pointer) ? maskSecrets(text) : maskText(text);
    return rest === text ? value : rest;
  };
  const shownAt = (value: JsonValue, pointer: string, hidden: boolean): JsonValue => {
    const result = shown(value, pointer, hidden || mask.hides(pointer));
    if (result !== value && (value === null || typeof value !== 'object')) masked.push(pointer);
    return result;
  };
  return { args: shown(args, '', false) as JsonObject, masked, maskText };
}

/** Values that are secret by name, so that the agent's own words cannot repeat them. */
function secretsIn(args: JsonObject, mask: ArgumentMask): ReadonlySet<string> {
  const found = new Set<string>();
  const collect = (value: JsonValue, pointer: string, hidden: boolean): void => {
    if (typeof value === 'string' && hidden && value.length >= SHORTEST_ECHO && found.size < MOST_ECHOES)
      found.add(value);
    if (value === null || typeof value !== 'object') return;
    for (const [key, item] of Object.entries(value)) {
      const at = pointer + pointerOf(key);
      collect(item, at, hidden || mask.hides(at));
    }
  };
  collect(args, '', false);
  return found;
}
