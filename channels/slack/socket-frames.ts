import { z } from 'zod';
import type { HttpAnswer } from '../../src/channel/channel.ts';
import { parseJson } from '../../src/channel/parse-json.ts';

/** What Slack sends over a Socket Mode connection (docs.slack.dev, "Using Socket Mode"). */
export type SocketFrame =
  /** The connection is ready, and whose it is. */
  | { readonly type: 'hello'; readonly appId: string | null }
  /** Slack will close this connection, or asks us to. */
  | { readonly type: 'disconnect'; readonly reason: string }
  | SocketEnvelope
  | { readonly type: 'unreadable' };

/** One thing that happened, to be answered over the same connection by its id. */
export interface SocketEnvelope {
  readonly type: 'envelope';
  readonly id: string;
  /** What a form body would carry as `payload`; null for what is no interaction. */
  readonly payload: unknown;
  /** Whether an answer may carry more than the acknowledgement. */
  readonly takesPayload: boolean;
}

export function readFrame(text: string): SocketFrame {
  const parsed = frame.safeParse(parseJson(text));
  if (!parsed.success) return { type: 'unreadable' };
  const { data } = parsed;
  if ('envelope_id' in data)
    return {
      type: 'envelope',
      id: data.envelope_id,
      payload: data.type === 'interactive' ? (data.payload ?? null) : null,
      takesPayload: data.accepts_response_payload ?? false,
    };
  if (data.type === 'hello') return { type: 'hello', appId: data.connection_info?.app_id ?? null };
  return { type: 'disconnect', reason: data.reason ?? 'no reason given' };
}

/** The channel's answer as an envelope's: the body that HTTP would carry, or the acknowledgement alone. */
export function writeAnswer(envelope: SocketEnvelope, { body }: HttpAnswer): string {
  const payload = envelope.takesPayload ? answerBody.safeParse(parseJson(body)).data : undefined;
  return JSON.stringify({ envelope_id: envelope.id, ...(payload && { payload }) });
}

const frame = z.union([
  z.object({
    envelope_id: z.string().min(1).max(255),
    type: z.string().max(100),
    payload: z.unknown().optional(),
    accepts_response_payload: z.boolean().nullish(),
  }),
  z.object({
    type: z.literal('hello'),
    connection_info: z.object({ app_id: z.string().max(100).nullish() }).nullish(),
  }),
  z.object({
    type: z.literal('disconnect'),
    reason: z
      .string()
      .regex(/^[a-z_]{1,60}$/)
      .nullish()
      .catch(null),
  }),
]);

const answerBody = z.record(z.string(), z.unknown());
