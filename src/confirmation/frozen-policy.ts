import { z } from 'zod';
import { REASON_MODES } from '../verdict.ts';

/**
 * The rule as it stood when the request was made. A change of the configuration changes no open request; the people
 * it named are frozen beside it as the request's approvers.
 */
export const frozenPolicy = z.object({
  /** The policy's id, or `default`. */
  id: z.string(),
  quorum: z.int().min(1),
  allowSelfApproval: z.boolean(),
  channels: z.array(z.string()),
  decideWithinMs: z.int().positive(),
  executeWithinMs: z.int().positive(),
  outcomeWithinMs: z.int().positive(),
  deliveryTimeoutMs: z.int().positive(),
  reason: z.enum(REASON_MODES),
  /** Between the approval and the first moment of the claim. */
  coolOffMs: z.int().min(0).default(0),
  /** Digest of the configuration that was in force. */
  configRevision: z.string(),
});
export type FrozenPolicy = z.infer<typeof frozenPolicy>;
