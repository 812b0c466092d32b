/** What somebody who watches a run has of each turn of its model, put together as the documentation says. */
export function rebuilt(
  pieces: readonly { readonly turn?: unknown; readonly text?: unknown; readonly first?: unknown }[],
): Map<unknown, string> {
  const turns = new Map<unknown, string>();
  for (const { turn, text, first } of pieces) {
    turns.set(turn, `${first === true ? '' : (turns.get(turn) ?? '')}${text}`);
  }
  return turns;
}
