import OpenAI from 'openai';
import type { ChatCompletionMessageParam } from 'openai/resources/chat/completions';
import { type Clock, sleep } from '../clock.ts';
import type { ModelConfig } from '../config/config.ts';
import { parseChatCompletion } from './chat-completion.ts';
import type { ChatMessage } from './chat-message.ts';
import type { Model, OfferedTool } from './model.ts';

/** CONTRACT.md: a model request is tried at most three times. */
const MAX_ATTEMPTS = 3;
const REQUEST_TIMEOUT_MS = 120_000;
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
    logLevel: 'off',
  });

  return {
    async complete({ messages, tools, signal }) {
      for (let attempt = 1; ; attempt += 1) {
        // The client never takes its listener off a signal again: each attempt has one of its own.
        const attemptOver = new AbortController();
        const stop = () => attemptOver.abort(signal.reason);
        signal.addEventListener('abort', stop, { once: true });
        try {
          signal.throwIfAborted();
          const completion: unknown = await client.chat.completions.create(
            {
              model: config.model,
              messages: messages.map(toWire),
              ...(tools.length > 0 && { tools: tools.map(toolToWire) }),
            },
            { signal: attemptOver.signal },
          );
          return parseChatCompletion(completion);
        } catch (error) {
          if (signal.aborted) throw signal.reason;
          const failure = classify(error);
          if (!failure.retryable || attempt === MAX_ATTEMPTS) {
            return { kind: 'failed', message: `${failure.message} (attempt ${attempt} of ${MAX_ATTEMPTS}).` };
          }
          await sleep(clock, failure.retryAfterMs ?? backOffMs(attempt), signal);
        } finally {
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
function classify(error: unknown): ModelFailure {
  if (error instanceof OpenAI.APIConnectionTimeoutError) {
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
