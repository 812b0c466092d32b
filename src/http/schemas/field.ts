import { z } from 'zod';
import type { JsonObject, JsonValue } from '../../json.ts';

/**
 * The fields that several bodies and queries share. PostgreSQL holds no NUL, and a query string can carry one, so no
 * text lets it pass; JSON bodies were checked for it when they were read.
 */
const text = (maxLength: number) =>
  z
    .string()
    .max(maxLength)
    .refine((value) => !value.includes('\u0000'), { message: 'must not hold a NUL character' });

/** An id or a name that somebody chose: of a tool, an agent, a session, a person. */
export const name = text(200).min(1);
/** A sentence that a person or an agent wrote. */
export const sentence = text(2000);
export const searchText = text(200).min(1);
export const cursor = text(500).min(1);
/** How many items a page holds. More than there can be is no fault: the page is full then, and a cursor leads on. */
export const pageSizeOf = ({ usual, most }: { readonly usual: number; readonly most: number }) =>
  z.coerce
    .number()
    .int()
    .min(1)
    .default(usual)
    .transform((count) => Math.min(count, most))
    .meta({ description: `At most ${most}; more counts as that.` });
export const pageSize = pageSizeOf({ usual: 50, most: 200 });

/** An instant as RFC 3339; the offset may be anything. In UTC it has to be one that the database can hold too. */
export const instant = z.iso
  .datetime({ offset: true })
  .transform((value) => new Date(value))
  .refine((date) => date.getTime() >= EARLIEST_MS && date.getTime() <= LATEST_MS, {
    message: 'must be in the years 1 to 9999 of UTC',
  });
const EARLIEST_MS = Date.parse('0001-01-01T00:00:00Z');
const LATEST_MS = Date.parse('9999-12-31T23:59:59.999Z');

/** A JSON object that was read without loss; looked at no further here, however large. */
export const jsonObject = z
  .custom<JsonObject>((value) => typeof value === 'object' && value !== null && !Array.isArray(value), {
    message: 'must be a JSON object',
  })
  .meta({ type: 'object', additionalProperties: true });

export const jsonValue = z.custom<JsonValue>(() => true).meta({ description: 'Any JSON value.' });

/** The time of an event in an answer: RFC 3339 in UTC. */
export const time = z.string().meta({ format: 'date-time' });

export const uuid = z.string().meta({ format: 'uuid' });
export const idParams = z.strictObject({ id: z.string() });
