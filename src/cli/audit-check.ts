import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import type { AuditHead } from '../audit/audit-reader.ts';
import { type ExportedEvent, verifyExport } from '../audit/verify-export.ts';
import { auditEventSchema } from '../http/schemas/audit-schema.ts';

/** A later version may know more kinds; members that no hash covers are refused, because somebody could read them. */
const line = z.strictObject({
  ...auditEventSchema.shape,
  kind: z.string(),
  actor: z.strictObject(auditEventSchema.shape.actor.shape),
});
const keptHead = /^(\d{1,15}) ([0-9a-f]{64})$/;

/**
 * `countersign audit check <file>`: verifies an export without the service, its database or its configuration. 0 for
 * one in which nothing was changed, 1 for any other.
 */
export async function auditCheck(input: {
  readonly file: string;
  /** `<number> <hash>`, as `audit verify` prints the head; null where none was kept. */
  readonly head: string | null;
  readonly selection: boolean;
}): Promise<number> {
  const head = input.head === null ? null : parseHead(input.head);
  const verification = await verifyExport(eventsOf(input.file), { head, selection: input.selection });
  if (!verification.ok) {
    const { seq, reason } = verification.firstBad;
    console.error(`The export was CHANGED, at number ${seq}: ${reason}`);
    return 1;
  }
  const { events, head: end } = verification;
  if (events === 0) {
    console.error('The export holds no event.');
    return 1;
  }
  console.log(
    input.selection
      ? `Nothing in this selection was changed: ${events} events. What it leaves out was not looked at.`
      : `The export is whole: ${events} events.`,
  );
  console.log(`Last: ${end.seq} ${end.hash}`);
  if (head === null)
    console.log('Whether later events are missing only a head that was kept elsewhere shows: --head.');
  return 0;
}

function parseHead(text: string): AuditHead {
  const [, seq, hash = ''] = keptHead.exec(text) ?? [];
  if (seq === undefined)
    throw new Error('--head has to be a number and a hash, as `audit verify` prints them.');
  return { seq: Number(seq), hash };
}

/** Line by line, so that a record of any length fits. Throws for a line that is no event, with its number. */
async function* eventsOf(file: string): AsyncIterable<ExportedEvent> {
  let number = 0;
  for await (const text of createInterface({
    input: createReadStream(file),
    crlfDelay: Number.POSITIVE_INFINITY,
  })) {
    number += 1;
    if (text === '') continue;
    const event = line.safeParse(parsed(text)).data;
    if (event === undefined)
      throw new Error(`${file}:${number}: is not an event of an export, or not all of it.`);
    yield event as ExportedEvent;
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
