import { z } from 'zod';
import { personId } from '../ids.ts';

/** Times as ISO texts, in UTC: what is frozen is kept as JSON. Null: since ever, until further notice. */
const span = { from: z.iso.datetime().nullable(), until: z.iso.datetime().nullable() };
const person = { id: z.string().transform(personId), name: z.string() };

/** Who takes an absent person's seat; does not act while away as well. */
const delegate = z.object({ ...person, away: z.object(span).nullable() });

/** Somebody who has a seat in a request, with the absence that was planned when the request was made. */
export const frozenApprover = z.object({
  ...person,
  away: z
    .object({ ...span, delegate: delegate.nullable() })
    .nullable()
    .default(null),
});
export type FrozenApprover = z.infer<typeof frozenApprover>;
export type FrozenAbsence = NonNullable<FrozenApprover['away']>;
export type FrozenDelegate = NonNullable<FrozenAbsence['delegate']>;
