import { z } from 'zod';
import type { CardRecords } from '../../confirmation/card-record.ts';
import { ACCESS } from '../access.ts';
import type { ConfirmationAccess } from '../confirmation-access.ts';
import type { HttpApp } from '../http-app.ts';
import { cardPageQuery, cardSchema } from '../schemas/card-schema.ts';
import { idParams } from '../schemas/field.ts';
import { problems } from '../schemas/problem-schema.ts';

/** `GET /v1/confirmations/{id}/cards`: what people were shown, for whoever reads the record. */
export function cardsRoute(
  app: HttpApp,
  ports: { readonly cards: CardRecords; readonly access: ConfirmationAccess },
): void {
  app.get(
    '/confirmations/:id/cards',
    {
      config: { access: ACCESS.readAudit },
      schema: {
        summary: 'The cards of a confirmation, each version as it went out',
        description: 'Delivery by delivery, each from its first version on.',
        tags: ['audit'],
        params: idParams,
        querystring: cardPageQuery,
        response: {
          200: z.object({ items: z.array(cardSchema), nextCursor: z.string().nullable() }),
          ...problems('not_found'),
        },
      },
    },
    async (request) => {
      const { id } = await ports.access.find(request, request.params.id);
      const page = await ports.cards.list({ confirmation: id, ...request.query });
      return {
        items: page.items.map(({ messageIds, at, ...card }) => ({
          ...card,
          messageIds: [...messageIds],
          at: at.toISOString(),
        })),
        nextCursor: page.nextCursor,
      };
    },
  );
}
