/**
 * Every code a caller can meet, in one table. `retryable` says whether the same caller may try again by itself;
 * `advice` is what the documentation says to do. The HTTP status of each code is in `src/http/problem.ts`.
 */
export const ERRORS = {
  unauthenticated: { retryable: false, advice: 'Send a known key as `Authorization: Bearer <key>`.' },
  forbidden: { retryable: false, advice: 'Use a key whose role may do this.' },
  not_found: { retryable: false, advice: 'Check the id, and that this key may see it.' },
  method_not_allowed: { retryable: false, advice: 'Use one of the methods in the `allow` header.' },
  invalid_json: { retryable: false, advice: 'Send well-formed JSON in UTF-8 without duplicate keys.' },
  invalid_request: { retryable: false, advice: 'Mend the field that the message names.' },
  body_too_large: { retryable: false, advice: 'Keep the body under 1 MiB.' },
  unsupported_media_type: { retryable: false, advice: 'Send `content-type: application/json`.' },
  too_many_requests: { retryable: true, advice: 'Wait as long as `retry-after` says.' },
  invalid_arguments: { retryable: true, advice: 'Mend the argument that the message names and call again.' },
  unknown_tool: { retryable: false, advice: 'Use a connector tool or one listed in `externalTools`.' },
  unknown_agent: { retryable: false, advice: 'Use an agent of the configuration.' },
  unknown_requester: { retryable: false, advice: "Name a person's id from the configuration as requester." },
  invalid_plan: { retryable: false, advice: 'Mend the node that the message names.' },
  agent_not_allowed: { retryable: false, advice: 'Use the key that lists this agent.' },
  requester_not_allowed: { retryable: false, advice: "List the person in the key's `requesters`." },
  idempotency_conflict: { retryable: false, advice: 'Use a new Idempotency-Key for another body.' },
  already_decided: { retryable: false, advice: 'Read the decision in the answer.' },
  already_claimed: { retryable: false, advice: 'The grant was used; ask for a new confirmation.' },
  already_closed: { retryable: false, advice: 'The request is closed; nothing is left to do.' },
  args_changed: { retryable: false, advice: 'Changed arguments are a new request: ask again with them.' },
  not_approved: { retryable: false, advice: 'Wait for the decision before you claim.' },
  not_yet_executable: { retryable: true, advice: 'Wait until the cooling-off time is over.' },
  lapsed: { retryable: false, advice: 'The grant was not used in time; ask again if it is still wanted.' },
  revoked: { retryable: false, advice: 'The grant was withdrawn; do not run the call.' },
  grant_of_a_run: { retryable: false, advice: 'Only the run that asked may use this grant.' },
  not_claimed: { retryable: false, advice: 'Claim the grant before you report an outcome.' },
  outcome_recorded: {
    retryable: false,
    advice: 'An outcome is recorded once; settle an unknown one as a person.',
  },
  not_unknown: { retryable: false, advice: 'Only an execution whose outcome is unknown can be settled.' },
  not_yet_settleable: {
    retryable: true,
    advice: 'Wait until the earlier attempt can no longer send, as long as `retryAfter` says.',
  },
  not_repeatable: {
    retryable: false,
    advice:
      'Only an unchanged, idempotent tool of one of our runs is run again; say `succeeded` or `failed`.',
  },
  reason_required: { retryable: true, advice: 'Say why, in the field `reason`.' },
  not_an_approver: { retryable: false, advice: 'Ask one of the approvers on the card.' },
  self_approval: { retryable: false, advice: 'Somebody other than the requester has to approve.' },
  excluded: {
    retryable: false,
    advice: 'Somebody whom the policy does not exclude from this call has to approve.',
  },
  seat_taken: {
    retryable: false,
    advice: 'Somebody has approved for this seat already; another approver has to.',
  },
  inactive_person: { retryable: false, advice: 'An inactive person cannot vote.' },
  expired: { retryable: false, advice: 'The deadline has passed; ask again if it is still wanted.' },
  rejected: { retryable: false, advice: 'A person said no; do not try the same another way.' },
  cancelled: { retryable: false, advice: 'The request was withdrawn.' },
  superseded: { retryable: false, advice: 'A newer request took its place.' },
  undeliverable: { retryable: false, advice: 'Nobody could be asked; tell a person.' },
  denied_by_hook: { retryable: false, advice: 'A rule of the organization blocks this call.' },
  policy_error: { retryable: true, advice: 'Mend the argument that the message names and call again.' },
  gate_unavailable: { retryable: false, advice: 'The gate could not be asked; a person has to look.' },
  rate_limited: { retryable: true, advice: 'Wait as long as `retryAfter` says.' },
  read_only: { retryable: false, advice: 'Writing is switched off for now; a person can switch it on.' },
  frozen: { retryable: false, advice: 'Execution is frozen for now; a person can unfreeze it.' },
  tool_failed: { retryable: false, advice: 'The tool answered with an error; read its message.' },
  unavailable: { retryable: true, advice: 'Try again in a moment.' },
  internal: { retryable: true, advice: 'Try again; an operator finds the cause in the log.' },
} as const satisfies Record<string, { retryable: boolean; advice: string }>;

export type ErrorCode = keyof typeof ERRORS;

/** A fault that a caller is told about: a stable code, and a message that says what, which id and what to do. */
export class CountersignError extends Error {
  readonly code: ErrorCode;
  /** Further members of the answer, safe to show: `decision`, `retryAfter`, `errors`, … */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, message: string, details: Readonly<Record<string, unknown>> = {}) {
    super(message);
    this.name = 'CountersignError';
    this.code = code;
    this.details = details;
  }
}

/** The codes with which a call that did not run comes back to the model. */
export const BLOCK_CODES = [
  'rejected',
  'expired',
  'cancelled',
  'superseded',
  'undeliverable',
  'denied_by_hook',
  'invalid_arguments',
  'unknown_tool',
  'policy_error',
  'gate_unavailable',
  'lapsed',
  'revoked',
  'rate_limited',
  'read_only',
  'frozen',
] as const satisfies readonly ErrorCode[];

export type BlockCode = (typeof BLOCK_CODES)[number];
