import { z } from 'zod';
import { BLOCK_CODES } from '../errors.ts';
import type { ConfirmationId } from '../ids.ts';
import type { JsonObject } from '../json.ts';

/**
 * Results are small unions, one per point, and are checked at run time: what is not a result of the point counts
 * as a failure of the hook, never as "allow".
 */
const sideEffects = z.array(z.string().max(2_000)).max(50).optional();

const jsonObject = z.custom<JsonObject>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  'must be an object',
);

const confirmationId = z.custom<ConfirmationId>(
  (value) => typeof value === 'string' && value.length > 0,
  'must be the id of a confirmation',
);

const preToolUseAllow = z.strictObject({
  allow: z.literal(true),
  /** Replaces the arguments; validated again against the tool's schema before the next hook sees them. */
  modifiedArgs: jsonObject.optional(),
  sideEffects,
});

const preToolUseDeny = z.strictObject({
  allow: z.literal(false),
  /** One plain sentence for the model: no secret, no approver's identity, no stack trace. */
  error: z.string().min(1).max(2_000),
  /** Defaults to `denied_by_hook`. */
  code: z.enum(BLOCK_CODES).optional(),
  /** Seconds until a retry makes sense, where the code says that one does. */
  retryAfter: z.number().nonnegative().optional(),
  /** Only from the confirmation gate: the request that was stored and ended at once (`undeliverable`). */
  confirmationId: confirmationId.optional(),
  sideEffects,
});

/** Only the confirmation gate may answer so: the request is stored, and `invoke-tool` does the waiting. */
const preToolUsePending = z.strictObject({
  allow: z.literal('pending'),
  confirmationId,
  sideEffects,
});

/** Only the confirmation gate, in an evaluation run: the tool is not asked about and never runs. */
const preToolUseStubbed = z.strictObject({ allow: z.literal('stubbed'), sideEffects });

export const preToolUseResult = z.discriminatedUnion('allow', [
  preToolUseAllow,
  preToolUseDeny,
  preToolUsePending,
  preToolUseStubbed,
]);
export type PreToolUseResult = z.infer<typeof preToolUseResult>;

export const postToolUseResult = z.strictObject({
  /** Replaces what the model sees; the recorded real result stays as it is. */
  modifiedResult: z.string().optional(),
  sideEffects,
});
export type PostToolUseResult = z.infer<typeof postToolUseResult>;

export const sessionStartResult = z.strictObject({
  /** Text for the initial prompt. */
  context: z.string().max(20_000).optional(),
  sideEffects,
});
export type SessionStartResult = z.infer<typeof sessionStartResult>;

/** An observer steers nothing; it may only say what it did. */
export const observerResult = z.union([z.undefined(), z.strictObject({ sideEffects })]);
export type ObserverResult = z.infer<typeof observerResult>;
