import type { JsonObject } from '../json.ts';
import type { ChatMessage, ToolCallMessage } from './chat-message.ts';
import type { AnswerCut } from './cut-answer.ts';

/** One language model. */
export interface Model {
  /**
   * Answers a conversation with text, with tool calls, or (nonsense, but it happens) with neither. Rejects only with
   * the signal's reason when it aborts.
   */
  complete(input: {
    readonly messages: readonly ChatMessage[];
    readonly tools: readonly OfferedTool[];
    readonly signal: AbortSignal;
    /**
     * The words of the answer so far, each time that there are more of them. Those of an attempt that broke off are void:
     * the next one begins anew. They are for the eye alone; what counts is the answer.
     */
    readonly onText: (text: string) => void;
  }): Promise<ModelAnswer>;
}

export interface OfferedTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema. */
  readonly parameters: JsonObject;
}

export type ModelAnswer =
  | {
      readonly kind: 'answered';
      readonly text: string | null;
      readonly toolCalls: readonly ProposedToolCall[];
      /** What question and answer cost together, as the provider counts; estimated where it does not say. */
      readonly tokens: number;
      /** Null: it is whole. No call of an answer that is not may run, however whole its arguments look. */
      readonly cut: AnswerCut | null;
    }
  /** No usable answer, after every attempt; the sentence names no key and quotes no body. */
  | { readonly kind: 'failed'; readonly message: string };

/** A call as the provider sent it: its id may be missing or not unique. */
export type ProposedToolCall = Omit<ToolCallMessage, 'id'> & { readonly id: string | null };
