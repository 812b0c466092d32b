import type { FastifyRequest } from 'fastify';
import { canonicalize } from 'json-canonicalize';
import { z } from 'zod';
import type { AuthorizeAnswer, CallAuthorizer } from '../../agent/run-service.ts';
import { faultOfArguments } from '../../confirmation/arguments.ts';
import type { ConfirmationService } from '../../confirmation/confirmation-service.ts';
import { sha256Hex } from '../../confirmation/digest.ts';
import type { PersonDirectory } from '../../confirmation/person-directory.ts';
import type { RefusalRecorder } from '../../confirmation/refused-attempt.ts';
import { CountersignError, ERRORS, type ErrorCode } from '../../errors.ts';
import { agentId, type ConfirmationId, parseConfirmationId } from '../../ids.ts';
import { ACCESS } from '../access.ts';
import { principalOf } from '../authentication.ts';
import type { ConfirmationAccess } from '../confirmation-access.ts';
import type { HttpApp } from '../http-app.ts';
import { idempotencyKeyOf } from '../idempotency-key.ts';
import type { KeyPrincipal } from '../principal.ts';
import { recordingRefusals } from '../refused-act.ts';
import { checkedAgent, checkedRequester } from '../request-checks.ts';
import { confirmationSchema } from '../schemas/confirmation-schema.ts';
import { jsonObject, name, sentence } from '../schemas/field.ts';
import { BODY_PROBLEMS, problems } from '../schemas/problem-schema.ts';

const askBody = z.strictObject({
  tool: name,
  args: jsonObject,
  agent: name,
  session: name.nullish(),
  callId: name.nullish(),
  requester: name.nullish().meta({ description: "A person's id; left out: the agent's owner." }),
  summary: sentence.nullish(),
  metadata: jsonObject.nullish(),
});

const pendingAnswer = z.object({ decision: z.literal('pending'), confirmation: confirmationSchema });
const denyAnswer = z.object({
  decision: z.literal('deny'),
  error: z.object({
    code: z.string(),
    message: z.string(),
    retryable: z.boolean(),
    retryAfter: z.number().optional().meta({ description: 'Seconds.' }),
  }),
  confirmation: confirmationSchema.optional(),
});
const settledAnswer = z.discriminatedUnion('decision', [
  z.object({ decision: z.literal('allow'), args: jsonObject, argsDigest: z.string() }),
  denyAnswer,
  pendingAnswer,
]);

export interface AskPorts {
  readonly authorizer: CallAuthorizer;
  readonly confirmations: Pick<ConfirmationService, 'get' | 'findByIdempotencyKey'>;
  readonly people: PersonDirectory;
  readonly refusals: RefusalRecorder;
  readonly access: ConfirmationAccess;
}

/** `POST /v1/confirmations`: an outside agent asks whether this call may run. */
export function askRoute(app: HttpApp, ports: AskPorts): void {
  app.post(
    '/confirmations',
    {
      config: { access: ACCESS.ask },
      errorHandler: recordingRefusals('ask', { ...ports, confirmations: null }),
      schema: {
        summary: 'Ask whether a call may run',
        tags: ['confirmations'],
        body: askBody,
        response: {
          200: settledAnswer,
          201: pendingAnswer,
          ...problems(
            ...BODY_PROBLEMS,
            'agent_not_allowed',
            'requester_not_allowed',
            'unknown_agent',
            'unknown_requester',
            'unknown_tool',
            'idempotency_conflict',
          ),
        },
      },
    },
    async (request, reply) => {
      const { body } = request;
      const principal = principalOf(request);
      if (principal.type !== 'key') throw new CountersignError('forbidden', 'People do not ask, agents do.');
      const agent = agentId(checkedAgent(principal, body.agent));
      const requester = checkedRequester(principal, body.requester ?? null, ports.people);
      const fault = faultOfArguments(body.args);
      if (fault !== null) throw new CountersignError('invalid_arguments', fault);

      const idempotencyKey = idempotencyKeyOf(request);
      const bodyDigest = `sha256:${sha256Hex(canonicalize(body))}`;
      const asked = { principal, idempotencyKey, bodyDigest };
      const earlier = await findEarlier(asked, ports);
      if (earlier) return reply.code(200).send(await existingAnswer(request, earlier, ports));

      const answer = await ports.authorizer.authorize({
        tool: body.tool,
        args: body.args,
        agent,
        session: body.session ?? null,
        callId: body.callId ?? null,
        requester,
        summary: body.summary ?? null,
        metadata: body.metadata ?? {},
        apiKeyId: principal.id,
        idempotencyKey,
        bodyDigest,
      });
      if (answer.kind === 'allow') {
        const { args, argsDigest } = answer;
        return reply.code(200).send({ decision: 'allow' as const, args, argsDigest });
      }
      if (answer.kind === 'deny') return reply.code(200).send(await denial(request, answer, ports));
      if (!answer.created) {
        // Another request with the same key was stored between our look-up and now.
        const first = await findEarlier(asked, ports);
        if (first) return reply.code(200).send(await existingAnswer(request, first, ports));
      }
      const confirmation = await shown(request, answer.confirmationId, ports);
      reply.header('location', `/v1/confirmations/${confirmation.id}`);
      return reply.code(201).send({ decision: 'pending' as const, confirmation });
    },
  );
}

interface Asked {
  readonly principal: KeyPrincipal;
  readonly idempotencyKey: string | null;
  readonly bodyDigest: string;
}

/** The id of what this key asked before with the same body. Throws where the body was another. */
async function findEarlier(asked: Asked, ports: AskPorts): Promise<ConfirmationId | null> {
  if (asked.idempotencyKey === null) return null;
  const found = await ports.confirmations.findByIdempotencyKey(asked.principal.id, asked.idempotencyKey);
  if (!found) return null;
  if (found.bodyDigest !== asked.bodyDigest) {
    throw new CountersignError(
      'idempotency_conflict',
      'This Idempotency-Key was used with another body; use a new one.',
    );
  }
  return found.id;
}

/** The request as it stands by now. One that could not be delivered is denied again, as it was the first time. */
async function existingAnswer(request: FastifyRequest, id: ConfirmationId, ports: AskPorts) {
  const confirmation = await shown(request, id, ports);
  return confirmation.status === 'undeliverable'
    ? {
        decision: 'deny' as const,
        error: errorJson('undeliverable', ERRORS.undeliverable.advice, null),
        confirmation,
      }
    : { decision: 'pending' as const, confirmation };
}

async function denial(
  request: FastifyRequest,
  answer: AuthorizeAnswer & { readonly kind: 'deny' },
  ports: AskPorts,
) {
  const { code, message, retryAfter, confirmationId } = answer;
  return {
    decision: 'deny' as const,
    error: errorJson(code, message, retryAfter),
    ...(confirmationId === null ? {} : { confirmation: await shown(request, confirmationId, ports) }),
  };
}

const errorJson = (code: string, message: string, retryAfter: number | null) => ({
  code,
  message,
  retryable: code in ERRORS && ERRORS[code as ErrorCode].retryable,
  ...(retryAfter === null ? {} : { retryAfter }),
});

async function shown(request: FastifyRequest, id: string, ports: AskPorts) {
  const parsed = parseConfirmationId(id);
  const confirmation = parsed && (await ports.confirmations.get(parsed));
  if (!confirmation) throw new Error(`Confirmation ${id} was asked for and is not there`);
  return ports.access.show(request, confirmation);
}
