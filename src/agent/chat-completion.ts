import { z } from 'zod';
import type { ModelAnswer } from './model.ts';

/**
 * What a provider sends, read leniently: a tool call without a name or with arguments that are no text still reaches
 * the loop, which tells the model what is wrong with it. Only an answer without any message is none.
 */
const toolCall = z.object({
  id: z.string().min(1).nullish().catch(null),
  function: z
    .object({
      name: z.string().catch(''),
      arguments: z.unknown().optional(),
    })
    .nullish()
    .catch(null),
});

const completion = z.object({
  choices: z
    .array(
      z.object({
        message: z.object({
          content: z.unknown().optional(),
          tool_calls: z
            .array(toolCall.catch({ id: null, function: null }))
            .nullish()
            .catch(null),
        }),
      }),
    )
    .min(1),
});

/** More calls than this in one turn are a model gone wrong; each would cost rows, and may cost a person's attention. */
const MOST_CALLS = 200;

export function parseChatCompletion(body: unknown): ModelAnswer {
  const parsed = completion.safeParse(body);
  const message = parsed.success ? parsed.data.choices[0]?.message : undefined;
  if (!message) {
    return { kind: 'failed', message: 'The answer of the model holds no message.' };
  }
  const calls = message.tool_calls?.length ?? 0;
  if (calls > MOST_CALLS) {
    const what = `The model asked for ${calls} calls in one turn; the limit is ${MOST_CALLS}, and none of them ran.`;
    return { kind: 'failed', message: what };
  }
  return {
    kind: 'answered',
    text: typeof message.content === 'string' && message.content !== '' ? message.content : null,
    toolCalls: (message.tool_calls ?? []).map((call) => ({
      id: call.id ?? null,
      name: call.function?.name ?? '',
      arguments: argumentsText(call.function?.arguments),
    })),
  };
}

/** Some servers send an object where the format wants its text. */
function argumentsText(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? '' : JSON.stringify(value);
}
