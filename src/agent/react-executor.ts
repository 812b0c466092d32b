import type { RunLimits } from '../config/config.ts';
import { newInvocationId } from '../ids.ts';
import { allSettled } from './all-settled.ts';
import { askModel } from './ask-model.ts';
import type { ProposedCall } from './call-scope.ts';
import type { ChatMessage } from './chat-message.ts';
import { answerCutTwice, answerWithheld, CUT_CALLS, CUT_WORDS } from './cut-answer.ts';
import { type Executor, failedRun, type RunWork } from './executor.ts';
import type { Model } from './model.ts';
import { RUN_FAILURES } from './run-failure.ts';
import { limitBeforeCalls, limitBeforeModel } from './run-limits.ts';
import type { RunEnd } from './run-record.ts';
import type { SpokenPiece } from './spoken-answer.ts';

type AssistantMessage = Extract<ChatMessage, { role: 'assistant' }>;

const EMPTY_TURN = 'Your last answer was empty. Call a tool, or answer in words.';

/**
 * Reason and act: asks the model, runs the calls of its turn side by side, tells it the results in the order asked,
 * until it answers in words. Every step is decided by the last message on record, so a run goes on after a restart
 * exactly where it stood.
 */
export class ReactExecutor implements Executor {
  readonly #model: Model;
  readonly #limits: RunLimits;
  /** What a run starts with: instructions, the session's context, the input. */
  readonly #opening: () => Promise<readonly ChatMessage[]>;

  constructor(input: {
    readonly model: Model;
    readonly limits: RunLimits;
    readonly opening: () => Promise<readonly ChatMessage[]>;
  }) {
    this.#model = input.model;
    this.#limits = input.limits;
    this.#opening = input.opening;
  }

  async run(work: RunWork): Promise<RunEnd> {
    const messages = [...work.progress.messages];
    // What follows from rows of its own, as the results of calls do, is written with the model's next answer.
    const unsaved: ChatMessage[] = [];
    const add = (added: readonly ChatMessage[]) => {
      messages.push(...added);
      unsaved.push(...added);
    };
    const save = (spoken: SpokenPiece | null = null) => work.keep(unsaved.splice(0), spoken);
    if (messages.length === 0) {
      add(await this.#opening());
      await save();
    }

    for (;;) {
      const turn = messages.filter((message) => message.role === 'assistant').length;
      const last = messages.at(-1);
      if (last?.role === 'assistant') {
        if (last.cut === 'filter') return answerWithheld();
        if (last.toolCalls.length > 0) {
          const limit = hasBegun(turn, work)
            ? null
            : await limitBeforeCalls(messages, this.#limits, work.record);
          if (limit !== null) return limit;
          add(await runTurn(last, turn, work));
        } else if (last.content !== null && last.cut === undefined) {
          return { status: 'succeeded', output: last.content, error: null };
        } else if (askedAgain(messages.at(-2))) {
          return last.cut === undefined ? answeredNothingTwice() : answerCutTwice();
        } else {
          add([{ role: 'user', content: last.cut === undefined ? EMPTY_TURN : CUT_WORDS }]);
        }
      }
      const limit = await limitBeforeModel(messages, this.#limits, work.record);
      if (limit !== null) {
        await save();
        return limit;
      }
      const tools = [...work.scope.tools().values()];
      const answer = await askModel({ model: this.#model, messages, tools, work });
      if (answer.kind === 'failed') {
        await save();
        return failedRun('model_failed', answer.message);
      }
      add([answer.message]);
      await save(answer.spoken);
    }
  }
}

/** Whether an answer came to a question that a model gets after one that says nothing, or not all. */
const askedAgain = (before: ChatMessage | undefined): boolean =>
  before?.role === 'user' && (before.content === EMPTY_TURN || before.content === CUT_WORDS);

const answeredNothingTwice = (): RunEnd => failedRun('empty_answer', RUN_FAILURES.empty_answer);

/** A turn of which any call was proposed comes to its end: people may be asked about it, or it may have been sent. */
const hasBegun = (turn: number, { progress }: RunWork): boolean =>
  progress.invocations.some(({ position }) => position.kind === 'turn' && position.turn === turn);

/** The calls of one turn, independent of one another; one result each, in the order asked. */
async function runTurn(message: AssistantMessage, turn: number, work: RunWork): Promise<ChatMessage[]> {
  const settled = await allSettled(
    message.toolCalls.map((call, place) => {
      const stored = work.progress.invocations.find(
        ({ position }) => position.kind === 'turn' && position.turn === turn && position.place === place,
      );
      const proposed: ProposedCall = {
        id: stored?.id ?? newInvocationId(),
        position: { kind: 'turn', turn, place },
        callId: call.id,
        tool: call.name,
        arguments:
          message.cut === undefined
            ? { kind: 'text', text: call.arguments }
            : { kind: 'refused', message: CUT_CALLS },
      };
      return work.scope.waits.whileOpen(() => work.call(proposed, stored ?? null, work.scope.signal));
    }),
  );
  // A cancelled run ends here; the model is not told.
  if (work.scope.signal.aborted) throw work.scope.signal.reason;
  return settled.map(({ view }, place) => ({
    role: 'tool',
    callId: message.toolCalls[place]?.id ?? '',
    content: view,
  }));
}
