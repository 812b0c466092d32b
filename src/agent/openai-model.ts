import OpenAI from 'openai';
import type { ChatCompletionMessageParam } from 'openai/resources/chat/completions';
import { type Clock, sleep } from '../clock.ts';
import type { ModelConfig } from '../config/config.ts';
import { type ParsedCompletion, parseChatCompletion } from './chat-completion.ts';
import type { ChatMessage } from './chat-message.ts';
import type { Model, OfferedTool } from './model.ts';

/** CONTRACT.md: a model request is tried at most three times. */
const MAX_ATTEMPTS = 3;
/** For the whole answer: a body that comes drop by drop, or stops in the middle, ends with it, too. */
const REQUEST_TIMEOUT_MS = 120_000;
const MAX_BODY_BYTES = 16 * 1024 * 1024;
/** Where a provider does not count: about what its tokenizer would find in so many characters. */
const CHARACTERS_PER_TOKEN = 4;
const LONGEST_BACK_OFF_MS = 20_000;

/**
 * A model behind the Chat Completions wire format, at any base URL. Tried again, with back-off, on 429, 5xx, broken
 * connections and answers that break off. The client's own retries are off: they would not see the last of these.
 */
export function createOpenAiModel(config: ModelConfig, clock: Clock): Model {
  const client = new OpenAI({
    baseURL: config.baseUrl,
    // The client refuses an empty key; servers on loopback want none.
    apiKey: config.apiKey === '' ? 'none' : config.apiKey,
    // Only the configuration speaks for the service, not what the environment happens to hold.
    organization: null,
    project: null,
    maxRetries: 0,
    timeout: REQUEST_TIMEOUT_MS,
    fetchOptions: { redirect: 'manual' },
    fetch: boundedFetch,
    logLevel: 'off',
  });

  return {
    async complete({ messages, tools, signal }) {
      for (let attempt = 1; ; attempt += 1) {
        // The client never takes its listener off a signal again: each attempt has one of its own.
        const attemptOver = new AbortController();
        const stop = () => attemptOver.abort(signal.reason);
        signal.addEventListener('abort', stop, { once: true });
        const cancelTimer = clock.setTimer(REQUEST_TIMEOUT_MS, () => attemptOver.abort(TIME_IS_OVER));
        try {
          signal.throwIfAborted();
          const body = {
            model: config.model,
            messages: messages.map(toWire),
            ...(tools.length > 0 && { tools: tools.map(toolToWire) }),
          };
          const completion: unknown = await client.chat.completions.create(body, {
            signal: attemptOver.signal,
          });
          const parsed = parseChatCompletion(completion);
          if (parsed.kind === 'unusable') throw new UnusableAnswer(parsed);
          return { ...parsed, tokens: parsed.tokens ?? estimatedTokens(body, parsed) };
        } catch (error) {
          if (signal.aborted) throw signal.reason;
          const failure = classify(error, attemptOver.signal);
          if (!failure.retryable || attempt === MAX_ATTEMPTS) {
            return { kind: 'failed', message: `${failure.message} (attempt ${attempt} of ${MAX_ATTEMPTS}).` };
          }
          cancelTimer();
          await sleep(clock, failure.retryAfterMs ?? backOffMs(attempt), signal);
        } finally {
          cancelTimer();
          signal.removeEventListener('abort', stop);
        }
      }
    },
  };
}

interface ModelFailure {
  readonly message: string;
  readonly retryable: boolean;
  readonly retryAfterMs: number | null;
}

/** What went wrong, in words of ours: an error's own text may quote the key or the conversation. */
function classify(error: unknown, attempt: AbortSignal): ModelFailure {
  if (error instanceof UnusableAnswer) {
    return { message: error.message, retryable: error.retryable, retryAfterMs: null };
  }
  if (isTooLong(error)) {
    return { message: 'The answer of the model is too long', retryable: false, retryAfterMs: null };
  }
  if (attempt.reason === TIME_IS_OVER || error instanceof OpenAI.APIConnectionTimeoutError) {
    return { message: 'The model did not answer in time', retryable: true, retryAfterMs: null };
  }
  if (error instanceof OpenAI.APIConnectionError) {
    return { message: 'The connection to the model broke', retryable: true, retryAfterMs: null };
  }
  if (error instanceof OpenAI.APIError && error.status !== undefined) {
    return {
      message: `The model answered with status ${error.status}`,
      retryable: error.status === 429 || error.status >= 500,
      retryAfterMs: retryAfterMs(error.headers?.get('retry-after') ?? null),
    };
  }
  // The body broke off, or is no JSON.
  return { message: 'The answer of the model cannot be read', retryable: true, retryAfterMs: null };
}

function retryAfterMs(header: string | null): number | null {
  const seconds = header === null ? Number.NaN : Number(header);
  return Number.isFinite(seconds) && seconds >= 0 ? Math.min(seconds * 1_000, LONGEST_BACK_OFF_MS) : null;
}

const backOffMs = (attempt: number): number => 250 * 2 ** attempt * (0.75 + Math.random() / 2);

function toWire(message: ChatMessage): ChatCompletionMessageParam {
  switch (message.role) {
    case 'system':
    case 'user':
      return { role: message.role, content: message.content };
    case 'tool':
      return { role: 'tool', tool_call_id: message.callId, content: message.content };
    case 'assistant':
      return {
        role: 'assistant',
        content: message.content,
        ...(message.toolCalls.length > 0 && {
          tool_calls: message.toolCalls.map((call) => ({
            id: call.id,
            type: 'function' as const,
            function: { name: call.name, arguments: call.arguments },
          })),
        }),
      };
  }
}

const toolToWire = ({ name, description, parameters }: OfferedTool) => ({
  type: 'function' as const,
  function: { name, description, parameters: { ...parameters } },
});

const TIME_IS_OVER = new Error('the model did not answer in time');

/** An answer that came, and is none. */
class UnusableAnswer extends Error {
  readonly retryable: boolean;

  constructor({ message, retryable }: Extract<ParsedCompletion, { kind: 'unusable' }>) {
    super(message);
    this.retryable = retryable;
  }
}

class AnswerTooLong extends Error {}

function isTooLong(error: unknown): boolean {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 4; cause = cause.cause, depth += 1) {
    if (cause instanceof AnswerTooLong) return true;
  }
  return false;
}

/** `fetch`, which breaks off a body that is longer than any answer. */
async function boundedFetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
  const response = await fetch(input, init);
  if (response.body === null) return response;
  let total = 0;
  const bounded = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      total += chunk.byteLength;
      if (total > MAX_BODY_BYTES) throw new AnswerTooLong('the answer of the model is too long');
      controller.enqueue(chunk);
    },
  });
  return new Response(response.body.pipeThrough(bounded), response);
}

const estimatedTokens = (question: object, answer: object): number =>
  Math.ceil((JSON.stringify(question).length + JSON.stringify(answer).length) / CHARACTERS_PER_TOKEN);
