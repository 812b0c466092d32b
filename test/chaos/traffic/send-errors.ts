import { type ChatId, codesIn } from './chat.ts';

export const SEND_ERRORS = ['500', '429', 'timeout after accept'] as const;
export type SendError = (typeof SEND_ERRORS)[number];

const TIMEOUT: SendError = 'timeout after accept';

/** One in twenty: five per cent of everything that is sent to a chat or changed in it. */
const ONE_IN = 20;

/** What goes wrong between the service and the chats: each kind in turn, spread evenly over the calls of all of them. */
export class SendErrors {
  readonly counts: Record<SendError, number> = { '500': 0, '429': 0, 'timeout after accept': 0 };
  calls = 0;
  readonly #mostTimeouts: number;
  /** New cards of which the platform never said that it took them, by chat and code. */
  readonly #unanswered = new Map<string, number>();

  /** `mostTimeouts`: each keeps a card from the truth for ten seconds. */
  constructor({ mostTimeouts }: { readonly mostTimeouts: number }) {
    this.#mostTimeouts = mostTimeouts;
  }

  /** What happens to this call; null: nothing. `text` is what it says. */
  next(
    chat: ChatId,
    call: { readonly makes: 'card' | 'note' | 'change'; readonly text: string },
  ): SendError | null {
    this.calls += 1;
    if (this.calls % ONE_IN !== 0) return null;
    const due = SEND_ERRORS[(this.calls / ONE_IN) % SEND_ERRORS.length] ?? '500';
    const kind = due === TIMEOUT && this.counts[TIMEOUT] >= this.#mostTimeouts ? '500' : due;
    this.counts[kind] += 1;
    if (kind === TIMEOUT && call.makes === 'card')
      for (const code of codesIn(call.text)) {
        const key = `${chat} ${code}`;
        this.#unanswered.set(key, (this.#unanswered.get(key) ?? 0) + 1);
      }
    return kind;
  }

  unansweredSends(chat: ChatId, code: string): number {
    return this.#unanswered.get(`${chat} ${code}`) ?? 0;
  }
}
