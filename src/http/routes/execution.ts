import { z } from 'zod';
import { faultOfArguments } from '../../confirmation/arguments.ts';
import type { ConfirmationService } from '../../confirmation/confirmation-service.ts';
import type { RefusalRecorder } from '../../confirmation/refused-attempt.ts';
import { CountersignError } from '../../errors.ts';
import { ACCESS } from '../access.ts';
import { principalOf } from '../authentication.ts';
import { actorOf, type ConfirmationAccess } from '../confirmation-access.ts';
import { audienceOf } from '../confirmation-json.ts';
import type { HttpApp } from '../http-app.ts';
import { notFound, refused } from '../outcome-errors.ts';
import { recordingRefusals } from '../refused-act.ts';
import { confirmationSchema } from '../schemas/confirmation-schema.ts';
import { idParams, jsonObject, sentence, time } from '../schemas/field.ts';
import { BODY_PROBLEMS, problems } from '../schemas/problem-schema.ts';

/** `POST /v1/confirmations/{id}/claim` and `/outcome`: an agent uses its grant, and says what became of it. */
export function executionRoutes(
  app: HttpApp,
  ports: {
    readonly confirmations: Pick<ConfirmationService, 'get' | 'claim' | 'recordOutcome'>;
    readonly refusals: RefusalRecorder;
    readonly access: ConfirmationAccess;
  },
): void {
  app.post(
    '/confirmations/:id/claim',
    {
      config: { access: ACCESS.claim },
      errorHandler: recordingRefusals('claim', ports),
      schema: {
        summary: 'Take the grant, once, right before the call runs',
        tags: ['confirmations'],
        params: idParams,
        body: z.strictObject({ args: jsonObject.meta({ description: 'What is about to run.' }) }),
        response: {
          200: z.object({ claimed: z.literal(true), executeBy: time, confirmation: confirmationSchema }),
          ...problems(
            ...BODY_PROBLEMS,
            'not_found',
            'already_claimed',
            'args_changed',
            'not_approved',
            'not_yet_executable',
            'lapsed',
            'revoked',
            'grant_of_a_run',
          ),
        },
      },
    },
    async (request) => {
      const { args } = request.body;
      const fault = faultOfArguments(args);
      if (fault !== null) throw new CountersignError('invalid_arguments', fault);
      const found = await ports.access.find(request, request.params.id);
      const principal = principalOf(request);
      const audience = audienceOf(principal);
      const actor = actorOf(principal, found);
      const outcome = await ports.confirmations.claim({ id: found.id, actor, args });
      if (outcome.kind === 'not-found') throw notFound('confirmation');
      if (outcome.kind === 'refused') {
        const { retryAfterMs } = outcome;
        const waiting = retryAfterMs === null ? {} : { retryAfter: Math.ceil(retryAfterMs / 1000) };
        throw refused(outcome.code, outcome.request, audience, waiting);
      }
      return {
        claimed: true as const,
        executeBy: outcome.executeBy.toISOString(),
        confirmation: await ports.access.show(request, outcome.request),
      };
    },
  );

  app.post(
    '/confirmations/:id/outcome',
    {
      config: { access: ACCESS.reportOutcome },
      errorHandler: recordingRefusals('outcome', ports),
      schema: {
        summary: 'Report what became of a claimed call, once',
        tags: ['confirmations'],
        params: idParams,
        body: z.strictObject({
          status: z.enum(['succeeded', 'failed', 'unknown']),
          detail: sentence.nullish(),
        }),
        response: {
          200: confirmationSchema,
          ...problems(...BODY_PROBLEMS, 'not_found', 'outcome_recorded', 'not_claimed', 'grant_of_a_run'),
        },
      },
    },
    async (request) => {
      const { status, detail } = request.body;
      const found = await ports.access.find(request, request.params.id);
      const outcome = await ports.confirmations.recordOutcome({
        id: found.id,
        actor: actorOf(principalOf(request), found),
        status,
        detail: detail ?? null,
      });
      if (outcome.kind === 'not-found') throw notFound('confirmation');
      if (outcome.kind === 'refused')
        throw refused(outcome.code, outcome.request, audienceOf(principalOf(request)));
      return ports.access.show(request, outcome.request);
    },
  );
}
