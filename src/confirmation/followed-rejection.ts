import { z } from 'zod';
import { type ConfirmationId, personId } from '../ids.ts';

/**
 * The rejection that a request follows: the latest one, by a person, of a call of the same tool in the same run; of an
 * outside agent, in the same session. Frozen into the request when it is made, and final, as every decision is. It only
 * ever warns: nothing is decided by it, since an agent chooses its sessions.
 */
export const followedRejection = z.object({
  id: z.string().transform((id) => id as ConfirmationId),
  /** RFC 3339 in UTC: what is frozen is kept as JSON. */
  at: z.iso.datetime().transform((at) => new Date(at)),
  by: z.object({ id: z.string().transform(personId), name: z.string() }),
  reason: z.string().nullable(),
  /** What is asked about now is, by its digest, the very call that was rejected. */
  sameArguments: z.boolean(),
  /** Asked of the same people: those of another policy need not be allowed to read what was written then. */
  samePolicy: z.boolean(),
});
export type FollowedRejection = Readonly<z.infer<typeof followedRejection>>;
