import type { ToolCallMessage } from './chat-message.ts';
import type { ProposedToolCall } from './model.ts';

/** Providers repeat ids, or give none; in our history each call of a turn can be told from the others. */
export function withUniqueIds(calls: readonly ProposedToolCall[], turn: number): ToolCallMessage[] {
  const given = new Set(calls.map((call) => call.id));
  const taken = new Set<string>();
  return calls.map((call, place) => {
    let id = call.id;
    // An id that we make up must not be one that another call of the turn came with.
    for (let attempt = 0; id === null || taken.has(id); attempt += 1) {
      const made = `call_${turn}_${place}${attempt === 0 ? '' : `_${attempt}`}`;
      id = given.has(made) ? null : made;
    }
    taken.add(id);
    return { ...call, id };
  });
}
