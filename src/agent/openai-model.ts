import OpenAI from 'openai';
import { type Clock, sleep } from '../clock.ts';
import type { ModelConfig } from '../config/config.ts';
import { AnswerPatience, LONGEST_ANSWER_MS } from './answer-patience.ts';
import { parseChatCompletion } from './chat-completion.ts';
import { questionOf } from './chat-wire.ts';
import type { Model } from './model.ts';
import { failureOf, isBrokenBody, UnusableAnswer } from './model-failure.ts';
import { modelFetch } from './model-fetch.ts';
import { StreamedCompletion } from './streamed-completion.ts';

/** CONTRACT.md: a model request is tried at most three times. */
const MAX_ATTEMPTS = 3;
/** Where a provider does not count: about what its tokenizer would find in so many characters. */
const CHARACTERS_PER_TOKEN = 4;

/**
 * A model behind the Chat Completions wire format, at any base URL, asked to stream unless its configuration says
 * otherwise. Tried again, with back-off, on 429, 5xx, broken connections and answers that break off: pieces of one that
 * did are nothing, and no call among them is handed on. The client's own retries are off: they would not see the last of
 * these.
 */
export function createOpenAiModel(config: ModelConfig, clock: Clock): Model {
  return {
    async complete({ messages, tools, signal, onText }) {
      const question = questionOf(config.model, messages, tools);
      for (let attempt = 1; ; attempt += 1) {
        const patience = new AnswerPatience(clock, signal);
        try {
          signal.throwIfAborted();
          const parsed = parseChatCompletion(await askOnce(question, { config, patience, onText }));
          if (parsed.kind === 'unusable') throw new UnusableAnswer(parsed);
          return { ...parsed, tokens: parsed.tokens ?? estimatedTokens(question, parsed) };
        } catch (error) {
          if (signal.aborted) throw signal.reason;
          const failure = failureOf(error, patience);
          if (!failure.retryable || attempt === MAX_ATTEMPTS) {
            return { kind: 'failed', message: `${failure.message} (attempt ${attempt} of ${MAX_ATTEMPTS}).` };
          }
          patience.end();
          await sleep(clock, failure.retryAfterMs ?? backOffMs(attempt), signal);
        } finally {
          patience.end();
        }
      }
    },
  };
}

interface Attempt {
  readonly config: ModelConfig;
  readonly patience: AnswerPatience;
  readonly onText: (text: string) => void;
}

/** What the server says, whole, as one completion. */
async function askOnce(question: ReturnType<typeof questionOf>, attempt: Attempt): Promise<unknown> {
  const { config, patience } = attempt;
  const { completions } = openClient(config, patience).chat;
  const { signal } = patience;
  if (!config.stream) return completions.create(question, { signal });
  const streaming = { ...question, stream: true, stream_options: { include_usage: true } } as const;
  const { data, response } = await completions.create(streaming, { signal }).withResponse();
  // Not every server knows of streams. The client has read nothing yet.
  return isJson(response) ? response.json() : readStream(data, attempt);
}

async function readStream(
  chunks: AsyncIterable<unknown>,
  { patience, onText }: Attempt,
): Promise<ReturnType<StreamedCompletion['whole']>> {
  const completion = new StreamedCompletion();
  try {
    for await (const chunk of chunks) {
      const before = completion.text.length;
      completion.add(chunk);
      if (completion.text.length !== before) onText(completion.text);
      if (completion.isFinishedForSure) patience.heardTheEnd();
    }
  } catch (error) {
    // Behind its end, the words are whole whatever becomes of the connection.
    if (!completion.isFinishedForSure || !isBrokenBody(error)) throw error;
  }
  // The client ends a stream that was aborted as if it had come to its end.
  if (!completion.isFinishedForSure) patience.signal.throwIfAborted();
  if (!completion.isFinished) {
    const message = 'The stream of the model ended before its answer did (no finish_reason came)';
    throw new UnusableAnswer({ message, retryable: true });
  }
  if (completion.isGarbled) {
    throw new UnusableAnswer({ message: 'The stream of the model contradicts itself', retryable: true });
  }
  return completion.whole();
}

/** One an attempt; it holds no connection. */
const openClient = (config: ModelConfig, patience: AnswerPatience): OpenAI =>
  new OpenAI({
    baseURL: config.baseUrl,
    // The client refuses an empty key; servers on loopback want none.
    apiKey: config.apiKey === '' ? 'none' : config.apiKey,
    // Only the configuration speaks for the service, not what the environment happens to hold.
    organization: null,
    project: null,
    maxRetries: 0,
    timeout: LONGEST_ANSWER_MS,
    fetchOptions: { redirect: 'manual' },
    fetch: modelFetch({ onBytes: () => patience.heard(), isStreaming: config.stream }),
    logLevel: 'off',
  });

function isJson(response: Response): boolean {
  const mediaType = response.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase() ?? '';
  return mediaType === 'application/json' || mediaType.endsWith('+json');
}

const backOffMs = (attempt: number): number => 250 * 2 ** attempt * (0.75 + Math.random() / 2);

const estimatedTokens = (question: object, answer: object): number =>
  Math.ceil((JSON.stringify(question).length + JSON.stringify(answer).length) / CHARACTERS_PER_TOKEN);
