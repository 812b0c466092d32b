import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import Fastify from 'fastify';
import { z } from 'zod';
import { type ScriptedAnswer, scriptedAnswer } from './scripted-answer.ts';

const completionBody = z.object({
  model: z.string(),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
  messages: z.array(
    z.object({
      role: z.string(),
      content: z.string().nullish(),
      tool_calls: z.array(z.object({ id: z.string(), function: z.object({ name: z.string() }) })).optional(),
      tool_call_id: z.string().optional(),
    }),
  ),
});

export interface ScriptedModel {
  /** What to configure as `baseUrl`. */
  readonly url: string;
  stop(): Promise<void>;
}

/** A model without a model: `POST /v1/chat/completions` as a provider answers it, whole or as a stream, with `scriptedAnswer` behind it. */
export async function startScriptedModel(): Promise<ScriptedModel> {
  const app = Fastify({ forceCloseConnections: true, bodyLimit: 8 * 1024 * 1024 });
  app.post('/v1/chat/completions', async (request, reply) => {
    const parsed = completionBody.safeParse(request.body);
    if (!parsed.success) {
      return reply
        .code(400)
        .send({ error: { type: 'invalid_request_error', message: parsed.error.message } });
    }
    const { model, messages, stream, stream_options: options } = parsed.data;
    const answer = scriptedAnswer(messages);
    const frame = { id: `chatcmpl-${randomUUID()}`, created: Math.floor(Date.now() / 1000), model };
    if (!stream) {
      return {
        ...frame,
        object: 'chat.completion',
        choices: [{ index: 0, message: messageOf(answer), finish_reason: finishOf(answer) }],
        usage: USAGE,
      };
    }
    const chunks = [
      ...deltasOf(answer).map((delta) => [{ index: 0, delta, finish_reason: null }]),
      [{ index: 0, delta: {}, finish_reason: finishOf(answer) }],
      ...(options?.include_usage ? [[]] : []),
    ].map((choices) => ({
      ...frame,
      object: 'chat.completion.chunk',
      choices,
      ...(choices.length === 0 && { usage: USAGE }),
    }));
    const lines = [...chunks.map((chunk) => JSON.stringify(chunk)), '[DONE]'].map(
      (data) => `data: ${data}\n\n`,
    );
    return reply.header('content-type', 'text/event-stream').send(Readable.from(lines));
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/v1`, stop: () => app.close() };
}

const USAGE = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };

const finishOf = (answer: ScriptedAnswer): string => (answer.kind === 'call' ? 'tool_calls' : 'stop');

function messageOf(answer: ScriptedAnswer) {
  if (answer.kind === 'text') return { role: 'assistant', content: answer.text };
  return { role: 'assistant', content: null, tool_calls: [callOf(answer)] };
}

/** The same message as a provider streams it: words one by one, a call's name before its arguments. */
function deltasOf(answer: ScriptedAnswer): readonly object[] {
  const beginning = { role: 'assistant', content: null };
  if (answer.kind === 'text') {
    return [beginning, ...(answer.text.match(/\S+\s*|\s+/g) ?? []).map((content) => ({ content }))];
  }
  const { id, type, function: called } = callOf(answer);
  const begun = { index: 0, id, type, function: { ...called, arguments: '' } };
  const rest = { index: 0, function: { arguments: called.arguments } };
  return [beginning, ...[begun, rest].map((call) => ({ tool_calls: [call] }))];
}

const callOf = (answer: Extract<ScriptedAnswer, { kind: 'call' }>) => ({
  id: `call_${randomUUID().replaceAll('-', '').slice(0, 24)}`,
  type: 'function',
  function: { name: answer.name, arguments: JSON.stringify(answer.args) },
});
