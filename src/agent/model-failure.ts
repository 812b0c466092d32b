import OpenAI from 'openai';

/** Why an attempt brought no answer, in words that name no key and quote no body. */
export interface ModelFailure {
  readonly message: string;
  readonly retryable: boolean;
  /** How long the server asks to wait; null where it does not say. */
  readonly retryAfterMs: number | null;
}

/** An answer that came, and is none. */
export class UnusableAnswer extends Error {
  readonly retryable: boolean;

  constructor({ message, retryable }: Pick<ModelFailure, 'message' | 'retryable'>) {
    super(message);
    this.retryable = retryable;
  }
}

export class AnswerTooLong extends Error {}

/** The server does not take the question because an answer in pieces was asked for. */
export class StreamingRefused extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`the model refuses to stream (status ${status})`);
    this.status = status;
  }
}

/** A connection that broke while the body came. The runtime has no class for it. */
export const isBrokenBody = (error: unknown): boolean => error instanceof TypeError;

/** What went wrong, in words of ours: an error's own text may quote the key or the conversation. */
export function failureOf(error: unknown, { isRunOut }: { readonly isRunOut: boolean }): ModelFailure {
  if (error instanceof UnusableAnswer) {
    return { message: error.message, retryable: error.retryable, retryAfterMs: null };
  }
  if (causedBy(error, AnswerTooLong) !== null) return final('The answer of the model is too long');
  const refused = causedBy(error, StreamingRefused);
  if (refused !== null) {
    const what = `The model answered with status ${refused.status} because it was asked to stream`;
    return final(`${what}; "stream: false" under "models" in the configuration asks without`);
  }
  if (isRunOut || error instanceof OpenAI.APIConnectionTimeoutError) {
    return passing('The model did not answer in time');
  }
  if (error instanceof OpenAI.APIConnectionError || isBrokenBody(error)) {
    return passing('The connection to the model broke');
  }
  if (error instanceof OpenAI.APIError) {
    if (error.status === undefined) return passing('The model told of an error in the middle of its answer');
    return {
      message: `The model answered with status ${error.status}`,
      retryable: error.status === 429 || error.status >= 500,
      retryAfterMs: retryAfterMs(error.headers?.get('retry-after') ?? null),
    };
  }
  return passing('The answer of the model cannot be read');
}

const passing = (message: string): ModelFailure => ({ message, retryable: true, retryAfterMs: null });
const final = (message: string): ModelFailure => ({ message, retryable: false, retryAfterMs: null });

const LONGEST_RETRY_AFTER_MS = 20_000;

function retryAfterMs(header: string | null): number | null {
  const seconds = header === null ? Number.NaN : Number(header);
  return Number.isFinite(seconds) && seconds >= 0 ? Math.min(seconds * 1_000, LONGEST_RETRY_AFTER_MS) : null;
}

/** The client wraps what its `fetch` rejects with. */
function causedBy<T extends Error>(error: unknown, kind: new (...given: never[]) => T): T | null {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 4; cause = cause.cause, depth += 1) {
    if (cause instanceof kind) return cause;
  }
  return null;
}
