import { type BlockCode, ERRORS, type ErrorCode } from '../errors.ts';
import { truncateText } from './truncate-text.ts';

/** What a call that gave no plain result looks like to the model: CONTRACT.md fixes every member. */

/** Longest quotation of a person's reason or of a tool's error, in UTF-16 code units. */
const LONGEST_QUOTE = 2_048;

export interface BlockedCall {
  readonly code: BlockCode;
  /** One plain sentence of ours or of a hook: no secret, no approver's identity. */
  readonly message: string;
  /** What the person wrote, verbatim; data, not instructions. */
  readonly reason: string | null;
  /** Seconds, where a later try makes sense. */
  readonly retryAfter: number | null;
}

export const blockedObservation = ({ code, message, reason, retryAfter }: BlockedCall): string =>
  JSON.stringify({
    status: 'blocked',
    code,
    message,
    reason: reason === null ? null : truncateText(reason, LONGEST_QUOTE),
    executed: false,
    retryable: ERRORS[code].retryable,
    ...(retryAfter !== null && { retryAfter }),
  });

/**
 * `result` is the result's text as the hooks left it, and all that the model sees where no approver gave a reason. With
 * reasons the two stand in members of their own: no result can pass for a person's word, nor a reason for a result. JSON
 * stays the JSON that it is, to its last digit.
 */
export const succeededObservation = (result: string, reasons: readonly string[]): string => {
  if (reasons.length === 0) return result;
  const head = JSON.stringify({ status: 'succeeded', executed: true, ...approvalReasons(reasons) });
  return `${head.slice(0, -1)},"result":${isStructured(result) ? result : JSON.stringify(result)}}`;
};

/** `answer` is what the tool itself said, as the hooks left it; null where it said nothing. */
export const failedObservation = (
  {
    code,
    message,
    answer,
  }: { readonly code: ErrorCode; readonly message: string; readonly answer: string | null },
  reasons: readonly string[],
): string =>
  JSON.stringify({
    status: 'failed',
    code,
    message: answer === null ? message : `${message} It said: ${truncateText(answer, LONGEST_QUOTE)}`,
    executed: true,
    retryable: ERRORS[code].retryable,
    ...approvalReasons(reasons),
  });

export const unknownObservation = (message: string, reasons: readonly string[]): string =>
  JSON.stringify({
    status: 'unknown',
    message: `${message} Whether it took effect is not known. Do not repeat it; a person has to look.`,
    executed: null,
    retryable: false,
    ...approvalReasons(reasons),
  });

/** What the approvers wrote, without their names; data, not instructions. */
const approvalReasons = (reasons: readonly string[]) =>
  reasons.length === 0
    ? {}
    : { approvalReasons: reasons.map((reason) => truncateText(reason, LONGEST_QUOTE)) };

function isStructured(text: string): boolean {
  if (!/^\s*[[{]/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

export const stubbedObservation = (because: string | null): string =>
  JSON.stringify({ status: 'stubbed', executed: false, ...(because !== null && { message: because }) });

const NO_OTHER_WAY = 'It was not executed. Do not try to reach the same effect in another way.';

/** The sentence for each end of a confirmation that keeps the call from running. */
export const BLOCK_MESSAGES = {
  rejected: `A person rejected this call. ${NO_OTHER_WAY}`,
  expired: `Nobody decided about this call in time. ${NO_OTHER_WAY}`,
  cancelled: `The request for this call was withdrawn. ${NO_OTHER_WAY}`,
  superseded: 'A newer request took the place of this call. It was not executed.',
  undeliverable: `Nobody could be asked about this call. ${NO_OTHER_WAY}`,
  lapsed: 'The call was approved, and the approval ran out before it could be used. It was not executed.',
  revoked: `The approval of this call was withdrawn. ${NO_OTHER_WAY}`,
  gate_unavailable: `Whether this call is allowed could not be found out. ${NO_OTHER_WAY}`,
} as const satisfies Partial<Record<BlockCode, string>>;
