const REMEMBERED = 1_000;

/**
 * Gives an event that is delivered twice within a moment the answer of the first time, so that the person is told
 * once. Nothing but that hangs on it: a vote that comes twice changes nothing in any case, and what has been
 * forgotten, or came to another process, is simply handled again.
 */
export class RecentAnswers<Answer> {
  readonly #answers = new Map<string, Promise<Answer>>();

  /** `repeated`: the answer is that of an earlier call, which may still be under way. */
  get(
    id: string,
    work: () => Promise<Answer>,
  ): { readonly answer: Promise<Answer>; readonly repeated: boolean } {
    const known = this.#answers.get(id);
    if (known !== undefined) return { answer: known, repeated: true };
    const answer = work();
    this.#answers.set(id, answer);
    const [oldest] = this.#answers.keys();
    if (this.#answers.size > REMEMBERED && oldest !== undefined) this.#answers.delete(oldest);
    return { answer, repeated: false };
  }
}
