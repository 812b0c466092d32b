import type { ChannelId, ConfirmationId } from '../ids.ts';

/** Why there is a note under a card: time passes, more people were asked, or nobody knows what became of the call. */
export const REMINDER_KINDS = ['reminder', 'escalation', 'unknown'] as const;
export type ReminderKind = (typeof REMINDER_KINDS)[number];

/**
 * The notes that are still to be posted under cards. One is posted at most once: `claim` puts it down as possibly in
 * the chat before anything goes out, and only an answer that nothing arrived takes that back.
 */
export interface ReminderOutbox {
  /** Takes up to `limit` notes of one channel whose requests still need somebody. */
  claim(input: { readonly channel: ChannelId; readonly limit: number }): Promise<readonly DueReminder[]>;
  record(input: { readonly id: string; readonly result: ReminderResult }): Promise<void>;
}

export interface DueReminder {
  /** A UUID; where the platform has an idempotency key, this is it. */
  readonly id: string;
  readonly confirmationId: ConfirmationId;
  readonly kind: ReminderKind;
  /** The card under which it belongs. */
  readonly messageId: string;
  /** Tries that did not arrive, before this one. */
  readonly failedAttempts: number;
}

export type ReminderResult =
  | { readonly kind: 'sent' }
  | { readonly kind: 'uncertain' | 'failed'; readonly error: string }
  /** It did not arrive. */
  | { readonly kind: 'retry'; readonly error: string; readonly retryInMs: number };
