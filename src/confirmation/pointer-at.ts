import { endOfString } from './scan-json.ts';

/** The JSON Pointer of the value that begins at `offset` of a well-formed JSON text. One pass, no recursion. */
export function pointerAt(text: string, offset: number): string {
  const path: Place[] = [];
  for (let at = 0; at < offset; at += 1) {
    const character = text[at];
    const place = path.at(-1);
    if (character === '"') {
      const end = endOfString(text, at);
      if (place?.kind === 'object' && !place.named) place.key = text.slice(at, end + 1);
      at = end;
    } else if (character === '{') path.push({ kind: 'object', key: '""', named: false });
    else if (character === '[') path.push({ kind: 'array', index: 0 });
    else if (character === '}' || character === ']') path.pop();
    else if (character === ':' && place?.kind === 'object') place.named = true;
    else if (character === ',' && place?.kind === 'object') place.named = false;
    else if (character === ',' && place?.kind === 'array') place.index += 1;
  }
  return path.map((place) => `/${stepOf(place)}`).join('');
}

type Place =
  /** `key` as it is written, with its quotes; `named` once its colon came. */
  { readonly kind: 'object'; key: string; named: boolean } | { readonly kind: 'array'; index: number };

const stepOf = (place: Place): string =>
  place.kind === 'array' ? String(place.index) : escapedStep(String(JSON.parse(place.key)));

/** One key as a step of a pointer, cut where it would drown the message that names it. */
export const escapedStep = (key: string): string =>
  key.slice(0, 100).replaceAll('~', '~0').replaceAll('/', '~1');
