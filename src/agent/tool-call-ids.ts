import type { ToolCallMessage } from './chat-message.ts';
import type { ProposedToolCall } from './model.ts';

/** What no provider's ids are as long as; the history is sent again with each request. */
const LONGEST_ID = 200;

/** Ids that come back from the database as they were; two others may be one there. */
const canBeKept = (id: string): boolean => id.length <= LONGEST_ID && id.isWellFormed() && !id.includes('\0');

/**
 * Providers repeat ids, or give none, or such as no database can hold; in our history each call of a turn can be told
 * from the others.
 */
export function withUniqueIds(calls: readonly ProposedToolCall[], turn: number): ToolCallMessage[] {
  const given = new Set(calls.map((call) => call.id));
  const taken = new Set<string>();
  return calls.map((call, place) => {
    let id = call.id !== null && canBeKept(call.id) ? call.id : null;
    // An id that we make up must not be one that another call of the turn came with.
    for (let attempt = 0; id === null || taken.has(id); attempt += 1) {
      const made = `call_${turn}_${place}${attempt === 0 ? '' : `_${attempt}`}`;
      id = given.has(made) ? null : made;
    }
    taken.add(id);
    return { ...call, id };
  });
}
