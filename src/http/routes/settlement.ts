import { z } from 'zod';
import { assertNever } from '../../assert-never.ts';
import { SETTLE_ACTIONS } from '../../channel/inbound-event.ts';
import type { ConfirmationService } from '../../confirmation/confirmation-service.ts';
import type { RefusalRecorder } from '../../confirmation/refused-attempt.ts';
import { ACCESS } from '../access.ts';
import { principalOf } from '../authentication.ts';
import type { ConfirmationAccess } from '../confirmation-access.ts';
import type { HttpApp } from '../http-app.ts';
import { notFound, refused } from '../outcome-errors.ts';
import { recordingRefusals } from '../refused-act.ts';
import { idOf, personOf } from '../request-subject.ts';
import { confirmationSchema } from '../schemas/confirmation-schema.ts';
import { idParams, sentence } from '../schemas/field.ts';
import { BODY_PROBLEMS, problems } from '../schemas/problem-schema.ts';

/**
 * `POST /v1/confirmations/{id}/settlement`: a person says what became of a call whose outcome nobody knows, or asks to
 * run it again. Checked by the core alone, as on every other surface.
 */
export function settlementRoute(
  app: HttpApp,
  ports: {
    readonly confirmations: Pick<ConfirmationService, 'get' | 'settle'>;
    readonly refusals: RefusalRecorder;
    readonly access: ConfirmationAccess;
  },
): void {
  app.post(
    '/confirmations/:id/settlement',
    {
      config: { access: ACCESS.settle },
      errorHandler: recordingRefusals('settle', ports),
      schema: {
        summary: 'Say what became of a call whose outcome is unknown, or ask to run it again',
        tags: ['confirmations'],
        params: idParams,
        body: z.strictObject({
          status: z.enum(SETTLE_ACTIONS).meta({
            description:
              '`run_again`: people are asked anew whether the same call may run, under the same Idempotency-Key; ' +
              'the answer names that confirmation in `supersededBy`.',
          }),
          detail: sentence.min(1).meta({ description: 'How the person knows, or why it should run again.' }),
        }),
        response: {
          200: confirmationSchema,
          ...problems(
            ...BODY_PROBLEMS,
            'not_found',
            'not_an_approver',
            'self_approval',
            'excluded',
            'not_unknown',
            'superseded',
            'not_yet_settleable',
            'not_repeatable',
            'policy_error',
            'undeliverable',
            'reason_required',
          ),
        },
      },
    },
    async (request) => {
      const { status, detail } = request.body;
      const outcome = await ports.confirmations.settle({
        id: idOf(request.params.id),
        person: personOf(principalOf(request)),
        status,
        detail,
        surface: { kind: 'api' },
      });
      switch (outcome.kind) {
        case 'settled':
          return ports.access.show(request, outcome.request);
        case 'refused': {
          const { retryAfterMs, code } = outcome;
          const waiting = retryAfterMs === null ? {} : { retryAfter: Math.ceil(retryAfterMs / 1000) };
          const audience = await ports.access.audienceOf(request, outcome.request);
          throw refused(code, outcome.request, audience, waiting);
        }
        case 'undeliverable':
          throw refused('undeliverable', outcome.request, 'people');
        case 'detail-required':
          throw refused('reason_required', outcome.request, 'people');
        case 'not-found':
          throw notFound('confirmation');
        default:
          return assertNever(outcome);
      }
    },
  );
}
