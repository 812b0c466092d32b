import { z } from 'zod';
import { LOCALES } from '../../locale.ts';
import { personSchema } from './confirmation-schema.ts';
import { cursor, pageSizeOf, time, uuid } from './field.ts';

/** A card as it went out. */
export const cardSchema = z
  .object({
    delivery: uuid.meta({ description: 'As `card.delivered` and a vote’s event name it.' }),
    channel: z.string(),
    person: personSchema
      .nullable()
      .meta({ description: 'Whose direct message it is; null for a card in the chat.' }),
    messageIds: z.array(z.string()).meta({
      description:
        'The messages of which the platform said that they show it; none where its answer was lost or was no.',
    }),
    version: z.int().meta({ description: 'The version of the request that it shows.' }),
    locale: z.enum(LOCALES),
    digest: z
      .string()
      .meta({ description: '`sha256:` + hex of SHA-256 over `payload` in UTF-8; that of `votes[].saw`.' }),
    payload: z.string().meta({ description: "The platform's message, to the byte as it was sent." }),
    at: time.meta({ description: 'When it went out, the last time.' }),
  })
  .meta({ description: 'One version of one card, as people were shown it.' });

/** A payload has up to 30 KB. */
export const cardPageQuery = z.strictObject({
  limit: pageSizeOf({ usual: 20, most: 50 }),
  cursor: cursor.optional(),
});
