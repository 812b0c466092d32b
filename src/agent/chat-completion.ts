import { z } from 'zod';
import type { AnswerCut } from './cut-answer.ts';
import type { ModelAnswer } from './model.ts';

export type ParsedCompletion =
  /** `tokens` is null where the provider does not say. */
  | (Omit<Extract<ModelAnswer, { kind: 'answered' }>, 'tokens'> & { readonly tokens: number | null })
  | { readonly kind: 'unusable'; readonly message: string; readonly retryable: boolean };

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

const count = z.int().min(0).nullish().catch(null);

const completion = z.object({
  choices: z
    .array(
      z.object({
        finish_reason: z.string().nullish().catch(null),
        message: z.object({
          content: z.unknown().optional(),
          refusal: z.unknown().optional(),
          tool_calls: z
            .array(toolCall.catch({ id: null, function: null }))
            .nullish()
            .catch(null),
        }),
      }),
    )
    .min(1),
  usage: z
    .object({ total_tokens: count, prompt_tokens: count, completion_tokens: count })
    .nullish()
    .catch(null),
});

/** More calls than this in one turn are a model gone wrong; each would cost rows, and may cost a person's attention. */
const MOST_CALLS = 200;

export function parseChatCompletion(body: unknown): ParsedCompletion {
  const parsed = completion.safeParse(body);
  const choice = parsed.success ? parsed.data.choices[0] : undefined;
  if (!choice) {
    return { kind: 'unusable', message: 'The answer of the model holds no message', retryable: true };
  }
  const { message } = choice;
  const finish = choice.finish_reason?.toLowerCase() ?? '';
  if (BROKEN_OFF.has(finish)) {
    return { kind: 'unusable', message: 'The model broke off in the middle of its answer', retryable: true };
  }
  const calls = message.tool_calls?.length ?? 0;
  if (calls > MOST_CALLS) {
    const what = `The model asked for ${calls} calls in one turn; the limit is ${MOST_CALLS}, and none of them ran`;
    return { kind: 'unusable', message: what, retryable: false };
  }
  return {
    kind: 'answered',
    text: textIn(message.content) ?? textIn(message.refusal),
    toolCalls: (message.tool_calls ?? []).map((call) => ({
      id: call.id ?? null,
      name: call.function?.name ?? '',
      arguments: argumentsText(call.function?.arguments),
    })),
    tokens: tokensIn(parsed.data?.usage),
    cut: cutOf(finish),
  };
}

/** `length` and `content_filter` are the format's own words; the others are those of servers that speak it. */
const AT_LENGTH = new Set(['length', 'max_tokens', 'max_output_tokens', 'model_length']);
const HELD_BACK = new Set(['content_filter', 'sensitive', 'safety', 'recitation', 'prohibited_content']);
const BROKEN_OFF = new Set(['error', 'abort', 'network_error', 'insufficient_system_resource']);

/** Some name no end yet in words. */
const NO_END = new Set(['', 'null', 'none']);

/** Whether a `finish_reason` names an end. */
export const isEnd = (finish: string): boolean => !NO_END.has(finish.toLowerCase());

/** Of several that were named, the one that leaves least of an answer; null of none. */
export const gravestEnd = (ends: readonly string[]): string | null =>
  [BROKEN_OFF, HELD_BACK, AT_LENGTH]
    .map((grave) => ends.find((end) => grave.has(end.toLowerCase())))
    .find((end) => end !== undefined) ??
  ends.at(-1) ??
  null;

function cutOf(finish: string): AnswerCut | null {
  if (AT_LENGTH.has(finish)) return 'length';
  return HELD_BACK.has(finish) ? 'filter' : null;
}

/** A text, or as some servers send it, its parts. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((part) => textPart.safeParse(part).data?.text ?? '').join('');
}

const textPart = z.object({ type: z.literal('text'), text: z.string() });

/** Null where it says nothing. */
function textIn(content: unknown): string | null {
  const text = textOf(content);
  return text.trim() !== '' ? text : null;
}

function tokensIn(usage: z.infer<typeof completion>['usage']): number | null {
  if (!usage) return null;
  const { total_tokens: total, prompt_tokens: prompt, completion_tokens: answer } = usage;
  const counted = total ?? (prompt == null || answer == null ? null : prompt + answer);
  // No answer costs nothing: some servers fill the field in without counting.
  return counted === 0 ? null : counted;
}

/** Some servers send an object where the format wants its text. */
export function argumentsText(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? '' : JSON.stringify(value);
}
