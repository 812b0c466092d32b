import { z } from 'zod';
import { NOTIFY_MODES } from '../channel/notify-mode.ts';
import { REASON_MODES } from '../verdict.ts';
import { frozenApprover } from './frozen-approver.ts';

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
  // Requests from before these keys existed had none of it.
  notify: z.enum(NOTIFY_MODES).default('group'),
  /** Where cards go once nobody could be reached in `channels`. */
  fallback: z
    .object({ channels: z.array(z.string()), afterMs: z.int().positive().nullable() })
    .nullable()
    .default(null),
  remindAfterMs: z.int().positive().nullable().default(null),
  /** People whose seats are added once the request has been open for `afterMs`. */
  escalation: z
    .object({ afterMs: z.int().positive(), people: z.array(frozenApprover) })
    .nullable()
    .default(null),
  /** Between the approval and the first moment of the claim. */
  coolOffMs: z.int().min(0).default(0),
  /** Ids of the people whom the policy's `excluded` named for this call: they may not approve it. */
  excluded: z.array(z.string()).default([]),
  /** Whether the floor covered the call, so that this may be stricter than the policy of that id. */
  floor: z.boolean().default(false),
  /** Digest of the configuration that was in force. */
  configRevision: z.string(),
});
export type FrozenPolicy = z.infer<typeof frozenPolicy>;
