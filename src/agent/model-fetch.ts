import { AnswerTooLong, StreamingRefused } from './model-failure.ts';

const MAX_BODY_BYTES = 16 * 1024 * 1024;
/** How a server says that it does not know what it was asked. */
const REFUSALS = new Set([400, 422]);
const NAMES_STREAMING = /\b(stream|streaming|stream_options|include_usage)\b/i;

/**
 * `fetch` for one answer of a model: breaks off a body that is longer than any answer, and tells of each piece of it. A
 * refusal that names streaming rejects with `StreamingRefused`: the client keeps nothing of one in words that it does not know.
 */
export function modelFetch({
  onBytes,
  isStreaming,
}: {
  readonly onBytes: () => void;
  readonly isStreaming: boolean;
}) {
  return async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const response = await fetch(input, init);
    onBytes();
    if (response.body === null) return response;
    let total = 0;
    const bounded = new TransformStream<Uint8Array, Uint8Array>({
      transform(bytes, controller) {
        onBytes();
        total += bytes.byteLength;
        if (total > MAX_BODY_BYTES) throw new AnswerTooLong('the answer of the model is too long');
        controller.enqueue(bytes);
      },
    });
    const answer = new Response(response.body.pipeThrough(bounded), response);
    if (!isStreaming || !REFUSALS.has(response.status)) return answer;
    const said = await answer.text();
    if (NAMES_STREAMING.test(said)) throw new StreamingRefused(response.status);
    return new Response(said, response);
  };
}
