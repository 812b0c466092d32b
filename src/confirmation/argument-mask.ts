import { compileGlob } from '../glob.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import type { DecisiveField } from './confirmation-request.ts';
import { pointerOf } from './json-pointer.ts';
import { MASK, maskCardNumbers, maskSecrets, namesSecret } from './secret-shapes.ts';

/** Which arguments are never shown: by the operator's list, by their names, and by what their values look like. */
export interface ArgumentMask {
  /**
   * Whether what this pointer names, with all that lies in it, is secret by its name or by the list, or stands under a
   * name that is itself shaped like a secret.
   */
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
        maskSecrets(key) !== key ||
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

  const shown = (value: JsonValue, pointer: string, hidden: boolean, inList = false): JsonValue => {
    if (value !== null && typeof value === 'object') {
      const isList = Array.isArray(value);
      const members = membersOf(value, { pointer, mask, inList }).map(
        ({ key, item, at, secret }) => [key, shownAt(item, at, hidden || secret, isList)] as const,
      );
      return isList ? members.map(([, item]) => item) : Object.fromEntries(members);
    }
    if (value === null || typeof value === 'boolean' || value === '') return value;
    if (hidden) return MASK;
    const text = String(value);
    const rest = decides(pointer) ? maskSecrets(text) : maskText(text);
    return rest === text ? value : rest;
  };
  const shownAt = (value: JsonValue, pointer: string, hidden: boolean, inList: boolean): JsonValue => {
    const result = shown(value, pointer, hidden, inList);
    if (result !== value && (value === null || typeof value !== 'object')) masked.push(pointer);
    return result;
  };
  return { args: shown(args, '', false) as JsonObject, masked, maskText };
}

/** Values that are secret by name, so that the agent's own words cannot repeat them. */
function secretsIn(args: JsonObject, mask: ArgumentMask): ReadonlySet<string> {
  const found = new Set<string>();
  const collect = (value: JsonValue, pointer: string, hidden: boolean, inList = false): void => {
    if (typeof value === 'string' && hidden && value.length >= SHORTEST_ECHO && found.size < MOST_ECHOES)
      found.add(value);
    if (value === null || typeof value !== 'object') return;
    for (const { item, at, secret } of membersOf(value, { pointer, mask, inList }))
      collect(item, at, hidden || secret, Array.isArray(value));
  };
  collect(args, '', false);
  return found;
}

interface Member {
  readonly key: string;
  readonly item: JsonValue;
  /** Its JSON Pointer. */
  readonly at: string;
  readonly secret: boolean;
}

/**
 * What lies in an object or array, and what of it is secret: by its own name, or by one that stands beside it, as
 * headers and variables are often passed (`{"name": "Authorization", "value": …}`, `[["API_KEY", …]]`).
 */
function membersOf(
  value: JsonObject | JsonValue[],
  {
    pointer,
    mask,
    inList,
  }: { readonly pointer: string; readonly mask: ArgumentMask; readonly inList: boolean },
): readonly Member[] {
  const isSecretName = (name: JsonValue | undefined) =>
    typeof name === 'string' && mask.hides(pointerOf(name));
  const isNamed = Array.isArray(value)
    ? inList && value.length === 2 && isSecretName(value[0])
    : NAME_KEYS.some((key) => Object.hasOwn(value, key) && isSecretName(value[key]));
  const held = Array.isArray(value) ? PAIR_VALUE : VALUE_KEYS;
  return Object.entries(value).map(([key, item]) => {
    const at = pointer + pointerOf(key);
    return { key, item, at, secret: mask.hides(at) || (isNamed && held.has(key)) };
  });
}

const NAME_KEYS = ['name', 'key', 'header', 'field'];
const VALUE_KEYS: ReadonlySet<string> = new Set(['value', 'values', 'val']);
const PAIR_VALUE: ReadonlySet<string> = new Set(['1']);
