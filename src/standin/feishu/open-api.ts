import { randomBytes } from 'node:crypto';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Clock } from '../../clock.ts';
import type { JsonObject } from '../../json.ts';
import { appInformationRoutes } from './app-information.ts';
import { checkCard } from './check-card.ts';
import type { FaultQueue, StandinOperation } from './fault-queue.ts';
import type { LongConnectionServer } from './long-connections.ts';
import type { MessageStore, StandinMessage } from './message-store.ts';
import type { FeishuStandinOptions, StandinUser } from './standin-options.ts';

const TOKEN_LIFE_SECONDS = 7_200;
/** A card message's request body (open.feishu.cn, "Send message"). */
const MAX_BODY_BYTES = 30 * 1024;
const MAX_UUID_LENGTH = 50;

interface Answer {
  readonly status: number;
  readonly body: JsonObject;
}

/** The part of the open platform's API that a card needs. Errors have the platform's codes and HTTP statuses. */
export function createOpenApi(input: {
  readonly options: FeishuStandinOptions;
  readonly messages: MessageStore;
  readonly faults: FaultQueue;
  readonly clock: Clock;
  readonly changed: () => void;
  /** Null where the app is called over HTTP. */
  readonly longConnections: LongConnectionServer | null;
}): {
  readonly app: FastifyInstance;
  readonly revokeTokens: () => void;
  readonly tokensIssued: () => number;
} {
  const { options, messages, faults, clock, changed, longConnections } = input;
  const app = Fastify({ forceCloseConnections: true, bodyLimit: 4 * 1024 * 1024 });
  app.removeContentTypeParser('application/json');
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) =>
    done(null, body),
  );
  const tokens = new Map<string, number>();
  let issued = 0;

  const issueToken = (body: JsonObject): Answer => {
    if (body.app_id !== options.appId) return failure(200, 10003, 'invalid param');
    if (body.app_secret !== options.appSecret) return failure(200, 10014, 'app secret invalid');
    const token = `t-${randomBytes(20).toString('hex')}`;
    issued += 1;
    tokens.set(token, clock.now() + TOKEN_LIFE_SECONDS * 1000);
    return {
      status: 200,
      body: { code: 0, msg: 'ok', tenant_access_token: token, expire: TOKEN_LIFE_SECONDS },
    };
  };

  const issueAddress = (request: FastifyRequest, body: JsonObject): Answer => {
    if (body.AppID !== options.appId || body.AppSecret !== options.appSecret)
      return failure(200, 514, 'auth failed');
    return longConnections
      ? success(longConnections.issueAddress(request.socket.localPort ?? 0))
      : failure(200, 403, 'the app does not subscribe through long connections');
  };

  const unauthorized = (request: FastifyRequest): Answer | null => {
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1];
    if (!token) return failure(400, 99991661, 'Missing access token for authorization.');
    const validUntil = tokens.get(token);
    return validUntil === undefined || validUntil <= clock.now()
      ? failure(400, 99991663, 'Invalid access token for authorization.')
      : null;
  };

  const post = (chat: string, body: JsonObject, replyTo: StandinMessage | null): Answer => {
    const { content, uuid } = body;
    if (body.msg_type !== 'interactive' || typeof content !== 'string')
      return failure(400, 230001, 'Your request contains an invalid request parameter.');
    if (uuid !== undefined && (typeof uuid !== 'string' || uuid.length > MAX_UUID_LENGTH))
      return failure(400, 230001, 'Your request contains an invalid request parameter, ext=invalid uuid.');
    const checked = checkCard(content);
    if (checked.kind === 'fault') return failure(400, checked.code, checked.message);
    const message = messages.create({
      chat,
      uuid: uuid ?? null,
      replyTo: replyTo?.messageId ?? null,
      content,
      card: checked.card,
    });
    return success(messageData(message, options));
  };

  const create = (request: FastifyRequest, body: JsonObject): Answer => {
    const query = request.query as { receive_id_type?: string };
    if (query.receive_id_type === 'chat_id')
      return body.receive_id === options.chat
        ? post(options.chat, body, null)
        : failure(400, 230002, 'The bot can not be outside the group.');
    const idOf = USER_IDS[query.receive_id_type ?? ''];
    if (idOf === undefined)
      return failure(400, 230001, 'Your request contains an invalid request parameter.');
    const user = options.users.find((one) => idOf(one) !== undefined && idOf(one) === body.receive_id);
    if (user === undefined) return failure(400, 230001, 'Your request contains an invalid receive_id.');
    if (user.outOfReach) return failure(400, 230013, 'Bot has NO availability to this user.');
    return post(directChatOf(user), body, null);
  };

  const patch = (request: FastifyRequest, body: JsonObject): Answer => {
    const message = messages.get((request.params as { messageId: string }).messageId);
    if (!message)
      return failure(
        400,
        230001,
        'Your request contains an invalid request parameter, ext=invalid message_id.',
      );
    if (typeof body.content !== 'string')
      return failure(400, 230001, 'Your request contains an invalid request parameter.');
    const checked = checkCard(body.content);
    if (checked.kind === 'fault') return failure(400, checked.code, checked.message);
    if (!isShared(message.card) || !isShared(checked.card))
      return failure(400, 230001, 'update_multi must be true before and after the update.');
    messages.update(message, body.content, checked.card);
    return success({});
  };

  const reply = (request: FastifyRequest, body: JsonObject): Answer => {
    const message = messages.get((request.params as { messageId: string }).messageId);
    return message ? post(message.chat, body, message) : failure(400, 230001, 'invalid message_id');
  };

  const member = (request: FastifyRequest): Answer => {
    const { user_id_type: idType = 'open_id' } = request.query as { user_id_type?: string };
    const { userId } = request.params as { userId: string };
    if (idType !== 'open_id') return failure(400, 40001, 'param error');
    const user = options.users.find(({ openId }) => openId === userId);
    return user
      ? success({ user: memberData(user) })
      : failure(400, 99992351, 'The request you send is not a valid {open_id} or not exists');
  };

  const route = (operation: StandinOperation, act: (request: FastifyRequest, body: JsonObject) => Answer) => {
    return async (request: FastifyRequest, response: FastifyReply): Promise<unknown> => {
      const bytes = (request.body as Buffer | undefined) ?? Buffer.alloc(0);
      const body = parseBody(bytes);
      const answer = (): Answer => {
        if (!WITHOUT_TOKEN.has(operation)) {
          const refused = unauthorized(request);
          if (refused) return refused;
          if (bytes.length > MAX_BODY_BYTES)
            return failure(400, 230025, 'The length of the message content reaches its limit.');
        }
        const result = act(request, body);
        if (CHANGES.has(operation) && result.body.code === 0) changed();
        return result;
      };
      const fault = faults.take(operation, body);
      if (!fault) {
        const { status, body } = answer();
        return response.status(status).send(body);
      }
      if (fault.carriedOut) answer();
      if (fault.kind === 'answer')
        return response
          .status(fault.status)
          .headers(fault.headers ?? {})
          .send(fault.body);
      response.hijack();
      if (fault.kind === 'cut') request.raw.socket.destroy();
      return response;
    };
  };

  app.post(
    '/open-apis/auth/v3/tenant_access_token/internal',
    route('token', (_request, body) => issueToken(body)),
  );
  app.post('/callback/ws/endpoint', route('endpoint', issueAddress));
  app.post('/open-apis/im/v1/messages', route('create', create));
  app.patch('/open-apis/im/v1/messages/:messageId', route('patch', patch));
  app.post('/open-apis/im/v1/messages/:messageId/reply', route('reply', reply));
  app.get('/open-apis/contact/v3/users/:userId', route('member', member));
  appInformationRoutes(app, options, unauthorized);
  return { app, revokeTokens: () => tokens.clear(), tokensIssued: () => issued };
}

/** By which ids a person can be written to. */
const USER_IDS: Readonly<Record<string, (user: StandinUser) => string | undefined>> = {
  open_id: ({ openId }) => openId,
  union_id: ({ unionId }) => unionId,
  user_id: ({ userId }) => userId,
  email: ({ email }) => email,
};

/** The direct message between the app and this person. */
export const directChatOf = ({ openId }: StandinUser): string => `oc_p2p_${openId.replace(/^ou_/, '')}`;

const WITHOUT_TOKEN: ReadonlySet<StandinOperation> = new Set(['token', 'endpoint']);
const CHANGES: ReadonlySet<StandinOperation> = new Set(['create', 'patch', 'reply']);

const success = (data: JsonObject): Answer => ({ status: 200, body: { code: 0, msg: 'success', data } });
const failure = (status: number, code: number, msg: string): Answer => ({ status, body: { code, msg } });

const isShared = (card: JsonObject): boolean =>
  typeof card.config === 'object' &&
  card.config !== null &&
  !Array.isArray(card.config) &&
  card.config.update_multi === true;

function parseBody(bytes: Buffer): JsonObject {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return {};
  }
}

const messageData = (message: StandinMessage, options: FeishuStandinOptions): JsonObject => ({
  message_id: message.messageId,
  msg_type: 'interactive',
  chat_id: message.chat,
  create_time: String(message.createdAt),
  update_time: String(message.updatedAt),
  deleted: false,
  updated: message.contents.length > 1,
  sender: { id: options.appId, id_type: 'app_id', sender_type: 'app', tenant_key: options.tenant },
  body: { content: JSON.stringify(message.card) },
});

/** What the directory tells to an app that may read ids and addresses. */
const memberData = ({ openId, unionId, userId, email, name }: StandinUser): JsonObject => ({
  open_id: openId,
  union_id: unionId,
  ...(userId !== undefined && { user_id: userId }),
  name,
  ...(email !== undefined && { email: '', enterprise_email: email }),
  status: { is_frozen: false, is_resigned: false, is_activated: true, is_exited: false, is_unjoin: false },
});
