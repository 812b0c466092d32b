import { createHash } from 'node:crypto';
import { canonicalize } from 'json-canonicalize';
import type { JsonObject } from '../json.ts';
import type { AuditActor } from './audit-event.ts';

/** What the hash of one event covers: everything that it says, and its place in its own chain. */
export interface HashedEvent {
  readonly id: string;
  /** ISO 8601 in UTC with milliseconds, as text: a hash never covers a parsed time. */
  readonly at: string;
  readonly kind: string;
  readonly confirmation: string | null;
  readonly run: string | null;
  readonly actor: AuditActor;
  readonly data: JsonObject;
  /** Counts from 1 within the chain. */
  readonly requestSeq: number;
  /** `requestHash` of the event before it in the chain; empty for the first. */
  readonly requestPrev: string;
}

/** Hex of SHA-256 over the UTF-8 bytes of `text`. */
export const sha256Hex = (text: string): string => createHash('sha256').update(text, 'utf8').digest('hex');

/** The RFC 8785 text of an event, the one that is stored and hashed. */
export function canonicalEventText(event: HashedEvent): string {
  const { id, at, kind, confirmation, run, data, requestSeq, requestPrev } = event;
  const actor = { type: event.actor.type, id: event.actor.id, name: event.actor.name };
  return canonicalize({ id, at, kind, confirmation, run, actor, data, requestSeq, requestPrev });
}

/**
 * The same text in pieces, around what only the writer behind the chain's lock can know: `beforeTime`, the time,
 * `beforePrev`, the hash of the event before, `beforeSeq`, the number, `afterSeq`. Time and hash need no escaping.
 */
export function canonicalEventParts(
  event: Omit<HashedEvent, 'at' | 'requestSeq' | 'requestPrev'>,
): Record<'beforeTime' | 'beforePrev' | 'beforeSeq' | 'afterSeq', string> {
  const { id, kind, confirmation, run, data } = event;
  const actor = { type: event.actor.type, id: event.actor.id, name: event.actor.name };
  // RFC 8785 sorts the keys: actor, at, confirmation … kind, requestPrev, requestSeq, run.
  return {
    beforeTime: `{"actor":${canonicalize(actor)},"at":"`,
    beforePrev: `",${canonicalize({ confirmation, data, id, kind }).slice(1, -1)},"requestPrev":"`,
    beforeSeq: '","requestSeq":',
    afterSeq: `,"run":${canonicalize(run)}}`,
  };
}

/** The hash that links the whole log: the event's own hash, its number in the log, and the link before it. */
export const logHashOf = (link: {
  readonly requestHash: string;
  readonly prevHash: string;
  readonly seq: number;
}): string => sha256Hex(canonicalize({ event: link.requestHash, prevHash: link.prevHash, seq: link.seq }));

/** The chain an event belongs to: its request's, else its run's, else the system's. */
export const chainOf = (event: {
  readonly confirmation: string | null;
  readonly run: string | null;
}): string =>
  event.confirmation !== null
    ? `confirmation:${event.confirmation}`
    : event.run !== null
      ? `run:${event.run}`
      : 'system';
