import { CountersignError, ERRORS, type ErrorCode } from '../errors.ts';

/** The one place that says with which HTTP status each code is answered. A code without a status does not compile. */
export const HTTP_STATUS = {
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  invalid_json: 400,
  invalid_request: 400,
  body_too_large: 413,
  unsupported_media_type: 415,
  too_many_requests: 429,
  invalid_arguments: 422,
  unknown_tool: 422,
  unknown_agent: 422,
  unknown_requester: 422,
  invalid_plan: 422,
  agent_not_allowed: 403,
  requester_not_allowed: 403,
  idempotency_conflict: 409,
  already_decided: 409,
  already_claimed: 409,
  already_closed: 409,
  args_changed: 409,
  not_approved: 409,
  not_yet_executable: 409,
  lapsed: 409,
  revoked: 409,
  grant_of_a_run: 403,
  not_claimed: 409,
  outcome_recorded: 409,
  not_unknown: 409,
  not_yet_settleable: 409,
  not_repeatable: 409,
  reason_required: 422,
  not_an_approver: 403,
  self_approval: 403,
  excluded: 403,
  seat_taken: 409,
  inactive_person: 403,
  expired: 410,
  rejected: 409,
  cancelled: 409,
  superseded: 409,
  undeliverable: 409,
  denied_by_hook: 403,
  policy_error: 422,
  gate_unavailable: 503,
  rate_limited: 429,
  read_only: 409,
  frozen: 409,
  tool_failed: 502,
  unavailable: 503,
  internal: 500,
} as const satisfies Record<ErrorCode, number>;

/** The body of every error answer: `application/problem+json` (RFC 9457), with our stable `code`. */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: ErrorCode;
  /** Whether the same caller may try again by itself. */
  readonly retryable: boolean;
  /** Further members: `decision`, `errors`, `execution`, `retryAfter`. */
  readonly [member: string]: unknown;
}

export const PROBLEM_MEDIA_TYPE = 'application/problem+json';

/** The problem a caller is told. One of the 5xx says nothing about the inside, whatever the error holds. */
export function toProblem(error: CountersignError): Problem {
  const status = HTTP_STATUS[error.code];
  return {
    ...(status < 500 ? error.details : {}),
    type: `urn:countersign:error:${error.code}`,
    title: titleOf(error.code),
    status,
    detail: status < 500 ? error.message : ERRORS[error.code].advice,
    code: error.code,
    retryable: ERRORS[error.code].retryable,
  };
}

/** The same for every occurrence of a code, as RFC 9457 asks: `already_decided` reads "Already decided". */
export const titleOf = (code: ErrorCode): string => {
  const words = code.replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
};

/** What an unexpected throw becomes: a database or network that is away for the moment, or our own fault. */
export function problemOfFault(fault: unknown): CountersignError {
  return isPassing(fault)
    ? new CountersignError('unavailable', 'The service cannot answer right now.')
    : new CountersignError('internal', 'Something went wrong inside.');
}

/**
 * Broken connections (Node's codes, postgres.js and SQLSTATE class 08), and what goes away by itself:
 * lock_not_available, serialization_failure, deadlock_detected, too_many_connections, query_canceled, and a server
 * that shuts down or starts up (57P), or lost its place as the primary (25006).
 */
const PASSING_CODE =
  /^(ECONN|ETIMEDOUT|EPIPE|ENOTFOUND|CONNECTION_|CONNECT_TIMEOUT|08|55P03|40001|40P01|53300|57014|57P|25006)/;

/** What `pg` says without a code when a connection breaks, or none can be had in time. */
const PASSING_MESSAGE =
  /^(Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client has encountered a connection error)/;

function isPassing(fault: unknown): boolean {
  for (let cause = fault, depth = 0; cause instanceof Error && depth < 8; cause = cause.cause, depth += 1) {
    if ('code' in cause && typeof cause.code === 'string' && PASSING_CODE.test(cause.code)) return true;
    if (PASSING_MESSAGE.test(cause.message)) return true;
  }
  return false;
}
