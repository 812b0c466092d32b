import type { ClosedConfirmationRequest, ConfirmationRequest } from '../confirmation/confirmation-request.ts';
import { CountersignError, ERRORS, type ErrorCode } from '../errors.ts';
import { type Audience, decisionJson, executionJson } from './confirmation-json.ts';

/** What the API answers where the core said no: the code, a sentence, and what the caller needs to go on. */
export const notFound = (what: string): CountersignError =>
  new CountersignError('not_found', `There is no ${what} with this id that this key may see.`);

/**
 * The decision stands in the answer, so that whoever came late learns what was decided; `audience` null: somebody who may
 * not see the request, and is told that it is closed.
 */
export function alreadyClosed(
  code: 'already_decided' | 'expired',
  request: ClosedConfirmationRequest,
  audience: Audience | null,
): CountersignError {
  if (audience === null) return new CountersignError(code, `Confirmation ${request.id} is closed.`);
  const message =
    code === 'expired'
      ? `Confirmation ${request.id} expired at ${request.decision.at.toISOString()}.`
      : `Confirmation ${request.id} is already ${request.decision.status}.`;
  return new CountersignError(code, message, { decision: decisionJson(request, audience) });
}

/** A refusal about one request; `execution` says how the grant stands, where there is one and `audience` may see it. */
export const refused = (
  code: ErrorCode,
  request: ConfirmationRequest,
  audience: Audience | null,
  more: Readonly<Record<string, unknown>> = {},
): CountersignError =>
  new CountersignError(code, `Confirmation ${request.id}: ${ERRORS[code].advice}`, {
    ...(audience !== null && request.status === 'approved'
      ? { execution: executionJson(request, audience) }
      : {}),
    ...more,
  });
