import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import Fastify from 'fastify';
import { z } from 'zod';
import { type ScriptedAnswer, scriptedAnswer } from './scripted-answer.ts';

const completionBody = z.object({
  model: z.string(),
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

/** A model without a model: `POST /v1/chat/completions` as a provider answers it, with `scriptedAnswer` behind it. */
export async function startScriptedModel(): Promise<ScriptedModel> {
  const app = Fastify({ forceCloseConnections: true, bodyLimit: 8 * 1024 * 1024 });
  app.post('/v1/chat/completions', async (request, reply) => {
    const parsed = completionBody.safeParse(request.body);
    if (!parsed.success) {
      return reply
        .code(400)
        .send({ error: { type: 'invalid_request_error', message: parsed.error.message } });
    }
    const answer = scriptedAnswer(parsed.data.messages);
    return {
      id: `chatcmpl-${randomUUID()}`,
      object: 'chat.completion',
      created: Math.floor(Date.now() / 1000),
      model: parsed.data.model,
      choices: [
        {
          index: 0,
          message: messageOf(answer),
          finish_reason: answer.kind === 'call' ? 'tool_calls' : 'stop',
        },
      ],
      usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
    };
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/v1`, stop: () => app.close() };
}

function messageOf(answer: ScriptedAnswer) {
  if (answer.kind === 'text') return { role: 'assistant', content: answer.text };
  const call = {
    id: `call_${randomUUID().replaceAll('-', '').slice(0, 24)}`,
    type: 'function',
    function: { name: answer.name, arguments: JSON.stringify(answer.args) },
  };
  return { role: 'assistant', content: null, tool_calls: [call] };
}
