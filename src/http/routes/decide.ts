import { z } from 'zod';
import { assertNever } from '../../assert-never.ts';
import type { ConfirmationRequest } from '../../confirmation/confirmation-request.ts';
import type { ConfirmationService } from '../../confirmation/confirmation-service.ts';
import type { RefusalRecorder } from '../../confirmation/refused-attempt.ts';
import { CountersignError } from '../../errors.ts';
import { ACCESS, hasRole } from '../access.ts';
import { principalOf } from '../authentication.ts';
import { actorOf, type ConfirmationAccess } from '../confirmation-access.ts';
import { audienceOf } from '../confirmation-json.ts';
import type { HttpApp } from '../http-app.ts';
import { alreadyClosed, notFound, refused } from '../outcome-errors.ts';
import type { Principal } from '../principal.ts';
import { recordingRefusals } from '../refused-act.ts';
import { idOf, personOf } from '../request-subject.ts';
import { confirmationSchema } from '../schemas/confirmation-schema.ts';
import { idParams, name, sentence } from '../schemas/field.ts';
import { BODY_PROBLEMS, problems } from '../schemas/problem-schema.ts';

/**
 * `POST /v1/confirmations/{id}/votes`, `/revoke` and `/cancel`: what people do to a request. All but the
 * last are checked by the core alone, so that whoever may not is told so. Each refusal is on the record.
 */
export function decideRoutes(
  app: HttpApp,
  ports: {
    readonly confirmations: Pick<ConfirmationService, 'get' | 'decide' | 'revoke' | 'cancel'>;
    readonly access: ConfirmationAccess;
    readonly refusals: RefusalRecorder;
  },
): void {
  app.post(
    '/confirmations/:id/votes',
    {
      config: { access: ACCESS.vote },
      errorHandler: recordingRefusals('vote', ports),
      schema: {
        summary: 'Approve or reject, as a person',
        tags: ['confirmations'],
        params: idParams,
        body: z.strictObject({
          verdict: z.enum(['approve', 'reject']),
          reason: sentence.nullish(),
          argsDigest: name.meta({ description: 'The digest of what the person saw.' }),
        }),
        response: {
          200: confirmationSchema,
          ...problems(
            ...BODY_PROBLEMS,
            'not_found',
            'not_an_approver',
            'self_approval',
            'excluded',
            'seat_taken',
            'already_decided',
            'args_changed',
            'expired',
            'reason_required',
          ),
        },
      },
    },
    async (request) => {
      const { verdict, reason, argsDigest } = request.body;
      const outcome = await ports.confirmations.decide({
        id: idOf(request.params.id),
        person: personOf(principalOf(request)),
        verdict,
        reason: reason?.trim() || null,
        argsDigest,
        surface: { kind: 'api' },
      });
      if (outcome.kind === 'not-found') throw notFound('confirmation');
      if (outcome.kind === 'recorded' || outcome.kind === 'repeated')
        return ports.access.show(request, outcome.request);
      const audience = await ports.access.audienceOf(request, outcome.request);
      switch (outcome.kind) {
        case 'already-decided':
          throw alreadyClosed('already_decided', outcome.request, audience);
        case 'expired':
          throw alreadyClosed('expired', outcome.request, audience);
        case 'reason-required':
          throw refused('reason_required', outcome.request, audience);
        case 'refused':
          throw refused(outcome.code, outcome.request, audience);
        default:
          return assertNever(outcome);
      }
    },
  );

  app.post(
    '/confirmations/:id/revoke',
    {
      config: { access: ACCESS.revoke },
      errorHandler: recordingRefusals('revoke', ports),
      schema: {
        summary: 'Take an approval back while nobody has used it, as an approver',
        tags: ['confirmations'],
        params: idParams,
        body: z.strictObject({ reason: sentence.nullish() }).nullish(),
        response: {
          200: confirmationSchema,
          ...problems(
            ...BODY_PROBLEMS,
            'not_found',
            'not_an_approver',
            'not_approved',
            'already_claimed',
            'lapsed',
          ),
        },
      },
    },
    async (request) => {
      const outcome = await ports.confirmations.revoke({
        id: idOf(request.params.id),
        person: personOf(principalOf(request)),
        reason: request.body?.reason?.trim() || null,
        surface: { kind: 'api' },
      });
      if (outcome.kind === 'not-found') throw notFound('confirmation');
      if (outcome.kind === 'refused') {
        const audience = await ports.access.audienceOf(request, outcome.request);
        throw refused(outcome.code, outcome.request, audience);
      }
      return ports.access.show(request, outcome.request);
    },
  );

  app.post(
    '/confirmations/:id/cancel',
    {
      config: { access: ACCESS.cancelConfirmation },
      errorHandler: recordingRefusals('cancel', ports),
      schema: {
        summary: 'Withdraw a request, or the unused grant of an approved one',
        tags: ['confirmations'],
        params: idParams,
        body: z.strictObject({ reason: sentence.nullish() }).nullish(),
        response: { 200: confirmationSchema, ...problems(...BODY_PROBLEMS, 'not_found', 'already_decided') },
      },
    },
    async (request) => {
      const principal = principalOf(request);
      const found = await ports.access.find(request, request.params.id);
      if (!mayCancel(principal, found)) {
        throw new CountersignError(
          'forbidden',
          "Only the requester, the agent's owner or an operator cancels a request.",
        );
      }
      const outcome = await ports.confirmations.cancel({
        id: found.id,
        actor: actorOf(principal, found),
        reason: request.body?.reason?.trim() || null,
      });
      if (outcome.kind === 'not-found') throw notFound('confirmation');
      if (outcome.kind === 'already-decided') {
        throw alreadyClosed('already_decided', outcome.request, audienceOf(principal));
      }
      return ports.access.show(request, outcome.request);
    },
  );
}

const mayCancel = (principal: Principal, { requester, agentOwner }: ConfirmationRequest): boolean =>
  principal.type === 'key' ||
  principal.person.id === requester.id ||
  principal.person.id === agentOwner ||
  hasRole(principal, ['operator', 'admin']);
