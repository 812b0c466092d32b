import type { ClosedConfirmationRequest, ConfirmationRequest } from '../confirmation/confirmation-request.ts';
import { CountersignError, ERRORS, type ErrorCode } from '../errors.ts';
import { type Audience, decisionJson, executionJson } from './confirmation-json.ts';

/** What the API answers where the core said no: the code, a sentence, and what the caller needs to go on. */
export const notFound = (what: string): CountersignError =>
  new CountersignError('not_found', `There is no ${what} with this id that this key may see.`);

/** The decision stands in the answer, so that whoever came late learns what was decided. */
export function alreadyClosed(
  code: 'already_decided' | 'expired',
  request: ClosedConfirmationRequest,
  audience: Audience,
): CountersignError {
  const message =
    code === 'expired'
      ? `Confirmation ${request.id} expired at ${request.decision.at.toISOString()}.`
      : `Confirmation ${request.id} is already ${request.decision.status}.`;
  return new CountersignError(code, message, { decision: decisionJson(request, audience) });
}

/** A refusal about one request; `execution` says how the grant stands, where there is one. */
export const refused = (
  code: ErrorCode,
  request: ConfirmationRequest,
  audience: Audience,
  more: Readonly<Record<string, unknown>> = {},
): CountersignError =>
  new CountersignError(code, `Confirmation ${request.id}: ${ERRORS[code].advice}`, {
    ...(request.status === 'approved' ? { execution: executionJson(request, audience) } : {}),
    ...more,
  });
