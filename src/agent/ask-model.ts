import { sleep } from '../clock.ts';
import type { ChatMessage } from './chat-message.ts';
import type { RunWork } from './executor.ts';
import type { Model, ModelAnswer, OfferedTool } from './model.ts';
import { LeaseLost } from './run-record.ts';
import { SpokenAnswer, type SpokenPiece } from './spoken-answer.ts';
import { withUniqueIds } from './tool-call-ids.ts';

export type AskedModel =
  | {
      readonly kind: 'answered';
      readonly message: Extract<ChatMessage, { role: 'assistant' }>;
      /** What whoever watches has not been told of it yet: to be kept with the message. */
      readonly spoken: SpokenPiece | null;
    }
  | Extract<ModelAnswer, { kind: 'failed' }>;

/** How often it is made sure of that the answer is still wanted; a call in pieces is nothing that would be told. */
const LEASE_CHECK_MS = 10_000;

/** Asks for the next answer of a run, and tells whoever watches what the model says while it does. */
export async function askModel({
  model,
  messages,
  tools,
  work,
}: {
  readonly model: Model;
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly OfferedTool[];
  readonly work: Pick<RunWork, 'clock'> & {
    readonly progress: Pick<RunWork['progress'], 'spokenTurn'>;
    readonly record: Pick<RunWork['record'], 'tell' | 'heldAt'>;
    readonly scope: { readonly signal: AbortSignal };
  };
}): Promise<AskedModel> {
  const { signal } = work.scope;
  const turn = messages.filter(({ role }) => role === 'assistant').length + 1;
  const asking = new AbortController();
  const stop = () => asking.abort(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  const { spokenTurn } = work.progress;
  const spoken = new SpokenAnswer({
    turn,
    wasBegun: spokenTurn !== null && spokenTurn >= turn,
    clock: work.clock,
    tell: (piece) => work.record.tell(piece),
    onLeaseLost: (lost) => asking.abort(lost),
  });
  void watchLease(work, asking);
  try {
    const answer = await model.complete({
      messages,
      tools,
      signal: asking.signal,
      onText: (text) => spoken.hear(text),
    });
    if (answer.kind === 'failed') return answer;
    const { text, tokens, cut } = answer;
    const toolCalls = withUniqueIds(answer.toolCalls, turn);
    return {
      kind: 'answered',
      message: { role: 'assistant', content: text, toolCalls, tokens, ...(cut !== null && { cut }) },
      // What its provider held back in the end is taken back from whoever watches, too.
      spoken: await spoken.end(cut === 'filter' ? null : text),
    };
  } finally {
    asking.abort();
    await spoken.stop();
    signal.removeEventListener('abort', stop);
  }
}

/** Ends the question where another worker has the run; otherwise nobody would hang up until the answer is whole. */
async function watchLease(
  { clock, record }: Parameters<typeof askModel>[0]['work'],
  asking: AbortController,
): Promise<void> {
  while (!asking.signal.aborted) {
    try {
      await sleep(clock, LEASE_CHECK_MS, asking.signal);
      await record.heldAt();
    } catch (error) {
      // A database that is away says nothing of the lease.
      if (error instanceof LeaseLost) asking.abort(error);
    }
  }
}
