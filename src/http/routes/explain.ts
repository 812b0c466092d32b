import type { ConfirmationService } from '../../confirmation/confirmation-service.ts';
import { ACCESS } from '../access.ts';
import type { ConfirmationAccess } from '../confirmation-access.ts';
import type { HttpApp } from '../http-app.ts';
import { notFound } from '../outcome-errors.ts';
import { explanationSchema } from '../schemas/explanation-schema.ts';
import { idParams } from '../schemas/field.ts';
import { problems } from '../schemas/problem-schema.ts';

/** `GET /v1/confirmations/{id}/explain`: never for agents, who must not learn whom to talk round, or how to ask. */
export function explainRoute(
  app: HttpApp,
  ports: {
    readonly confirmations: Pick<ConfirmationService, 'explain'>;
    readonly access: ConfirmationAccess;
  },
): void {
  app.get(
    '/confirmations/:id/explain',
    {
      config: { access: ACCESS.explain },
      schema: {
        summary: 'Which rules were tried, why each matched or not, and who could approve',
        description: 'From what was frozen when the request was made; a later configuration changes nothing.',
        tags: ['confirmations'],
        params: idParams,
        response: { 200: explanationSchema, ...problems('not_found') },
      },
    },
    async (request) => {
      const found = await ports.access.find(request, request.params.id);
      const explanation = await ports.confirmations.explain(found.id);
      if (explanation === null) throw notFound('confirmation');
      return explanationSchema.parse(explanation);
    },
  );
}
