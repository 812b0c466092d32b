import { z } from 'zod';
import type { ConfirmationService } from '../../confirmation/confirmation-service.ts';
import { ACCESS } from '../access.ts';
import { principalOf } from '../authentication.ts';
import type { ConfirmationAccess } from '../confirmation-access.ts';
import type { HttpApp } from '../http-app.ts';
import type { OpenRequests } from '../open-requests.ts';
import { notFound } from '../outcome-errors.ts';
import type { Principal } from '../principal.ts';
import {
  CONFIRMATION_STATUSES,
  confirmationSchema,
  EXECUTION_STATUSES,
} from '../schemas/confirmation-schema.ts';
import { cursor, idParams, instant, name, pageSize, searchText } from '../schemas/field.ts';
import { problems } from '../schemas/problem-schema.ts';
import { seesEverything } from '../visibility.ts';
import { waitParameter } from '../wait-parameter.ts';

const listQuery = z.strictObject({
  status: z.enum(CONFIRMATION_STATUSES).optional(),
  execution: z.enum(EXECUTION_STATUSES).optional(),
  tool: name.optional(),
  agent: name.optional(),
  person: name.optional().meta({ description: 'Requester, approver, voter, or owner of the agent.' }),
  from: instant.optional(),
  to: instant.optional(),
  q: searchText.optional(),
  limit: pageSize,
  cursor: cursor.optional(),
});

/** `GET /v1/confirmations` and `GET /v1/confirmations/{id}`. */
export function readConfirmationRoutes(
  app: HttpApp,
  ports: {
    readonly confirmations: Pick<ConfirmationService, 'list' | 'wait'>;
    readonly access: ConfirmationAccess;
    readonly openRequests: OpenRequests;
  },
): void {
  app.get(
    '/confirmations/:id',
    {
      config: { access: ACCESS.readConfirmation },
      schema: {
        summary: 'One confirmation; with `wait`, held until it is decided',
        tags: ['confirmations'],
        params: idParams,
        querystring: z.strictObject({ wait: waitParameter.optional() }),
        response: { 200: confirmationSchema, ...problems('not_found') },
      },
    },
    async (request, reply) => {
      const found = await ports.access.find(request, request.params.id);
      const timeoutMs = request.query.wait ?? 0;
      if (timeoutMs === 0 || found.status !== 'pending') return ports.access.show(request, found);
      const signal = ports.openRequests.signalOf(reply);
      const waited = await ports.confirmations.wait({ id: found.id, timeoutMs, signal });
      if (!waited) throw notFound('confirmation');
      return ports.access.show(request, waited);
    },
  );

  app.get(
    '/confirmations',
    {
      config: { access: ACCESS.listConfirmations },
      schema: {
        summary: 'Confirmations, the newest first',
        description: 'A person without the operator, auditor or admin role gets what concerns them.',
        tags: ['confirmations'],
        querystring: listQuery,
        response: {
          200: z.object({ items: z.array(confirmationSchema), nextCursor: z.string().nullable() }),
          ...problems(),
        },
      },
    },
    async (request) => {
      const visibleTo = limitedTo(principalOf(request));
      const page = await ports.confirmations.list({ ...request.query, visibleTo });
      return { items: await ports.access.showAll(request, page.items), nextCursor: page.nextCursor };
    },
  );
}

const limitedTo = (principal: Principal): string | undefined =>
  principal.type === 'person' && !seesEverything(principal) ? principal.person.id : undefined;
