import type { AnswerCut } from './cut-answer.ts';

/** One message of a run's history, in our words; the model's client translates. */
export type ChatMessage =
  | { readonly role: 'system' | 'user'; readonly content: string }
  | {
      readonly role: 'assistant';
      readonly content: string | null;
      /** Calls of one turn are independent of one another. */
      readonly toolCalls: readonly ToolCallMessage[];
      /** What question and answer cost; absent in what earlier versions stored. */
      readonly tokens?: number;
      /** Absent where the answer is whole. */
      readonly cut?: AnswerCut;
    }
  | { readonly role: 'tool'; readonly callId: string; readonly content: string };

export interface ToolCallMessage {
  /** Unique within the turn; the provider's own id unless it repeated one or gave none. */
  readonly id: string;
  readonly name: string;
  /** The arguments' text as the model wrote it: possibly no JSON at all. */
  readonly arguments: string;
}
