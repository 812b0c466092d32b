import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AuditActor } from '../audit/audit-event.ts';
import type { ConfirmationService } from '../confirmation/confirmation-service.ts';
import {
  knownAs,
  REFUSALS,
  type RefusableAct,
  type RefusalRecorder,
  type RefusedAttempt,
} from '../confirmation/refused-attempt.ts';
import type { CountersignError, ErrorCode } from '../errors.ts';
import { parseConfirmationId } from '../ids.ts';
import { toCountersignError } from './error-handling.ts';
import type { Principal } from './principal.ts';

/** What is refused before the core is asked; whatever the core refuses is on the record by its own doing. */
const BEFORE_THE_CORE: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'forbidden',
  'inactive_person',
  'not_found',
  'agent_not_allowed',
  'requester_not_allowed',
  'unknown_agent',
  'unknown_requester',
  'unknown_tool',
  'idempotency_conflict',
  'invalid_request',
  'invalid_json',
  'invalid_arguments',
  'body_too_large',
  'unsupported_media_type',
]);

/**
 * The error handler of a route by which somebody acts: an attempt that never reaches the core (a key that is nobody's,
 * somebody who has left, an id that nothing has, a field that would name another person) is on the record too, then the
 * error is answered as everywhere. Where it cannot be recorded, the answer is that fault.
 *
 * `confirmations` finds the request that the address names, where the act is about one.
 */
export function recordingRefusals(
  act: RefusableAct,
  ports: {
    readonly refusals: RefusalRecorder;
    readonly confirmations: Pick<ConfirmationService, 'get'> | null;
  },
) {
  return async (error: unknown, request: FastifyRequest, _reply: FastifyReply): Promise<never> => {
    const known = toCountersignError(error);
    if (request.principal !== null && known !== null && BEFORE_THE_CORE.has(known.code)) {
      const id = idOf(request);
      const parsed = ports.confirmations && id !== null ? parseConfirmationId(id) : null;
      const found = parsed && (await ports.confirmations?.get(parsed));
      const attempt = { act, error: known, principal: request.principal, asked: id };
      await ports.refusals.record(
        refusedAct(attempt, found ? { confirmation: found.id, run: found.runId } : null),
      );
    }
    throw error;
  };
}

function refusedAct(
  tried: {
    readonly act: RefusableAct;
    readonly error: CountersignError;
    readonly principal: Principal;
    /** The id in the address, whatever it is; null where there is none. */
    readonly asked: string | null;
  },
  subject: { readonly confirmation: string; readonly run: string | null } | null,
): RefusedAttempt {
  const { act, error, principal, asked } = tried;
  const { code } = error;
  const { kind, data } = REFUSALS[act];
  const actor: AuditActor =
    principal.type === 'person'
      ? { type: 'person', id: principal.person.id, name: principal.person.name }
      : { type: 'key', id: principal.id, name: principal.id };
  return {
    event: {
      kind,
      ...(subject ?? { confirmation: null, run: null }),
      actor,
      data: { code, channel: 'api', request: asked, message: error.message, ...data },
    },
    act,
    code,
    who: knownAs(actor),
    surface: 'api',
  };
}

function idOf({ params }: FastifyRequest): string | null {
  const id = typeof params === 'object' && params !== null && 'id' in params ? params.id : null;
  return typeof id === 'string' ? id : null;
}
