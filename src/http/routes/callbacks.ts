import { finished } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Registry } from 'prom-client';
import { z } from 'zod';
import { type AuditRecorder, SYSTEM_ACTOR } from '../../audit/audit-event.ts';
import type { Channel, HttpAnswer, InboundResult } from '../../channel/channel.ts';
import type { InboundEvent } from '../../channel/inbound-event.ts';
import { answerEvent } from '../../confirmation/answer-event.ts';
import type { TapHandler } from '../../confirmation/handle-tap.ts';
import { CountersignError } from '../../errors.ts';
import { type ChannelId, channelId } from '../../ids.ts';
import { callbackResults } from '../callback-results.ts';
import type { FailedProofs } from '../failed-proofs.ts';
import type { HttpApp } from '../http-app.ts';
import { MAX_BODY_BYTES } from '../json-body.ts';
import { loggedFault } from '../logged-fault.ts';
import { RefusalRecord } from '../refusal-record.ts';

export interface CallbackPorts {
  readonly channels: ReadonlyMap<ChannelId, Channel>;
  readonly tap: TapHandler;
  readonly auditRecorder: AuditRecorder;
  readonly failedProofs: FailedProofs;
  /** Beyond this one's share a refusal leaves no trace but the metric: forgeries must not fill the record. */
  readonly recordedFailures: FailedProofs;
  readonly metrics: Registry;
}

/**
 * `POST /channels/{channelId}/callback`: taps, submissions and URL checks of the chat platforms. The proof is in the
 * raw bytes, so nothing parses them before the channel has verified them. A verified callback is always answered 200
 * and never limited, after what it caused has been committed; only failed proofs are limited.
 */
export function callbackRoute(app: HttpApp, ports: CallbackPorts): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    '*',
    { parseAs: 'buffer', bodyLimit: MAX_BODY_BYTES },
    async (_request: FastifyRequest, body: Buffer) => body,
  );
  const results = callbackResults(ports.metrics);
  const refusals = new RefusalRecord(ports.auditRecorder);
  const followUps = new FollowUps();
  app.addHook('onClose', () => followUps.settled());

  app.post(
    '/channels/:channelId/callback',
    {
      schema: {
        summary: 'Callbacks of a chat platform, verified over their raw bytes',
        tags: ['channels'],
        params: z.strictObject({ channelId: z.string() }),
        response: {
          200: z.unknown().meta({ description: 'What the platform expects for this callback.' }),
          401: z.null().meta({ description: 'The proof is wrong. Nothing else is said.' }),
          429: z.null().meta({ description: 'Too many wrong proofs from this address.' }),
        },
      },
    },
    async (request, reply) => {
      const channel = ports.channels.get(channelId(request.params.channelId));
      // A channel that connects to its platform by itself has no callback address.
      if (!channel || channel.connection)
        throw new CountersignError('not_found', 'There is no channel with this id that takes callbacks.');
      const result = await receive(channel, request);
      results.inc({ channel: channel.id, result: result.kind });
      switch (result.kind) {
        case 'refused':
          return refuse(request, reply, channel, result.reason, { ...ports, refusals });
        case 'answered':
          return send(reply, result.answer);
        case 'event': {
          const { event } = result;
          const { answer, afterwards } = await answerEvent({
            channel,
            event,
            tap: ports.tap,
            onFault: (error) =>
              request.log.error(
                { fault: loggedFault(error), channel: channel.id, eventId: eventIdOf(event) },
                'a verified tap failed',
              ),
          });
          if (afterwards) followUps.startAfter(request, reply, afterwards);
          return send(reply, answer);
        }
      }
    },
  );
}

async function receive(channel: Channel, request: FastifyRequest): Promise<InboundResult> {
  const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  try {
    return await channel.receive({ headers: request.headers, body });
  } catch (error) {
    request.log.warn({ fault: loggedFault(error), channel: channel.id }, 'a callback could not be verified');
    return { kind: 'refused', reason: 'the verifier failed' };
  }
}

async function refuse(
  request: FastifyRequest,
  reply: FastifyReply,
  channel: Channel,
  reason: string,
  ports: Pick<CallbackPorts, 'failedProofs' | 'recordedFailures'> & { readonly refusals: RefusalRecord },
): Promise<FastifyReply> {
  const verdict = await ports.failedProofs.count(request);
  if (verdict.limited) {
    return reply.code(429).header('retry-after', verdict.retryAfterSeconds).send();
  }
  if ((await ports.recordedFailures.count(request)).limited) return reply.code(401).send();
  request.log.warn({ channel: channel.id, reason }, 'callback refused');
  const recorded = ports.refusals.record({
    kind: 'callback.refused',
    confirmation: null,
    run: null,
    actor: SYSTEM_ACTOR,
    data: { channel: channel.id, reason, address: request.ip },
  });
  await recorded.catch((error: unknown) =>
    request.log.error(
      { fault: loggedFault(error), channel: channel.id },
      'a refused callback is not on the record',
    ),
  );
  return reply.code(401).send();
}

const eventIdOf = (event: InboundEvent): string | null => (event.type === 'tap' ? event.eventId : null);

const send = (reply: FastifyReply, { status, contentType, body }: HttpAnswer): FastifyReply =>
  reply.code(status).header('content-type', contentType).send(body);

/** What a channel still does once its answer is on the way: an ephemeral message, a modal. A stop waits for it. */
class FollowUps {
  readonly #running = new Set<Promise<void>>();

  /** The client may have hung up: what was committed is told to the person in any case. */
  startAfter(request: FastifyRequest, reply: FastifyReply, run: () => Promise<void>): void {
    const running = new Promise<void>((resolve) => finished(reply.raw, () => resolve()))
      .then(run)
      .catch((error: unknown) =>
        request.log.error({ fault: loggedFault(error) }, 'the follow-up of a tap failed'),
      );
    this.#running.add(running);
    void running.then(() => this.#running.delete(running));
  }

  async settled(): Promise<void> {
    await Promise.all(this.#running);
  }
}
