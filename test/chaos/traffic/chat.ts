import type { Verdict } from '../../../src/verdict.ts';

export const CHAT_IDS = ['slack-socket', 'slack-hooks', 'feishu-socket', 'feishu-hooks'] as const;
export type ChatId = (typeof CHAT_IDS)[number];

/** One chat of one platform, as the people in it use it. */
export interface TrafficChat {
  readonly id: ChatId;
  /** Every card that ever showed this verification code; more than one where a card was doubled. */
  cardsOf(code: string): readonly string[];
  /** When the first of them appeared; null where none did. */
  since(code: string): number | null;
  /** What people see of a message now. */
  look(messageId: string): SeenCard;
  /** How many notes stand under a card. */
  notesUnder(messageId: string): number;
  /** Presses the button, and says why where that is asked for. */
  tap(input: {
    readonly person: number;
    readonly messageId: string;
    readonly verdict: Verdict;
  }): Promise<TapAnswer>;
  /** All the app's connections end at once; nothing happens where it has none. */
  disconnect(how: 'cut' | 'goodbye'): void;
  /** Cards and notes under them that stand in the chat, and how often one was changed. */
  counts(): { readonly cards: number; readonly notes: number; readonly changes: number };
  stop(): Promise<void>;
}

export interface SeenCard {
  readonly title: string;
  readonly text: string;
  readonly canDecide: boolean;
}

export type TapAnswer =
  | { readonly kind: 'answered'; readonly elapsedMs: number }
  /** The client shows an error: the person sees that nothing was recorded, and taps again. */
  | { readonly kind: 'unanswered' };

/** Which messages show which code, read as they appear. */
export class CodeIndex {
  readonly #since = new Map<string, number>();
  readonly #messagesOf = new Map<string, Set<string>>();

  add(messageId: string, text: string): void {
    for (const code of codesIn(text)) {
      const known = this.#messagesOf.get(code) ?? new Set();
      this.#messagesOf.set(code, known.add(messageId));
      if (!this.#since.has(code)) this.#since.set(code, performance.now());
    }
  }

  /** When the first of them appeared, on this process's clock. */
  since(code: string): number | null {
    return this.#since.get(code) ?? null;
  }

  messagesOf(code: string): readonly string[] {
    return [...(this.#messagesOf.get(code) ?? [])];
  }
}

/** What can be a verification code: eight characters of Crockford's base32. */
export const codesIn = (text: string): readonly string[] =>
  text.match(/(?<![0-9A-Z])[0-9A-HJKMNP-TV-Z]{8}(?![0-9A-Z])/g) ?? [];
