/** What a text from outside holds; `undefined` where it is not one JSON text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
