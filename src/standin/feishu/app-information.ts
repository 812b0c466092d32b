import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { JsonObject } from '../../json.ts';
import type { FeishuStandinOptions } from './standin-options.ts';

interface Answer {
  readonly status: number;
  readonly body: JsonObject;
}

/** What an app can ask about itself: its bot, its permissions, its tenant, and whether it is in a group. */
export function appInformationRoutes(
  app: FastifyInstance,
  { tenant, chat, permissions = ['im:message:send_as_bot'] }: FeishuStandinOptions,
  unauthorized: (request: FastifyRequest) => Answer | null,
): void {
  const get = (path: string, bodyOf: (request: FastifyRequest) => JsonObject) =>
    app.get(path, async (request: FastifyRequest, response: FastifyReply) => {
      const { status, body } = unauthorized(request) ?? {
        status: 200,
        body: { code: 0, msg: 'success', ...bodyOf(request) },
      };
      return response.status(status).send(body);
    });
  get('/open-apis/bot/v3/info', () => ({
    bot: { activate_status: 2, app_name: 'Countersign', avatar_url: '', open_id: 'ou_bot' },
  }));
  get('/open-apis/application/v6/scopes', () => ({
    data: {
      scopes: permissions.map((name) => ({ scope_name: name, grant_status: 1, scope_type: 'tenant' })),
    },
  }));
  get('/open-apis/tenant/v2/tenant/query', () => ({
    data: { tenant: { name: 'Acme', display_id: 'F000000001', tenant_tag: 0, tenant_key: tenant } },
  }));
  get('/open-apis/im/v1/chats/:chatId/members/is_in_chat', (request) => ({
    data: { is_in_chat: (request.params as { readonly chatId: string }).chatId === chat },
  }));
}
