import { failedRun } from './executor.ts';
import { RUN_FAILURES } from './run-failure.ts';
import type { RunEnd } from './run-record.ts';

/** Why the words of a model are not all that it had to say: it reached its greatest length, or its provider held some back. */
export type AnswerCut = 'length' | 'filter';

/** Told to the model in place of a result of each call: which of them were whole, nobody can say for sure. */
export const CUT_CALLS =
  'Your answer was cut off at its greatest length, so none of its calls was made. Make fewer calls at a time, or shorter ones.';

/** Asked of a model whose words were cut off. */
export const CUT_WORDS =
  'Your last answer was cut off at its greatest length. Answer again, in fewer words, or make the calls that are left to make.';

export const answerCutTwice = (): RunEnd => failedRun('answer_cut', RUN_FAILURES.answer_cut);

/** Asked again, the provider would only look at the same conversation again. */
export const answerWithheld = (): RunEnd => failedRun('answer_withheld', RUN_FAILURES.answer_withheld);
