import type { ChannelId, ConfirmationId } from '../ids.ts';
import type { DirectRecipient } from './channel.ts';

/** Somebody has to look: time passes, more people were asked, nobody knows what became of the call, or it failed. */
export const CALLING_KINDS = ['reminder', 'escalation', 'unknown', 'failed'] as const;
/** Said once for those who want to know: an approved call is done, or ended without running. */
export const QUIET_KINDS = ['succeeded', 'lapsed', 'revoked'] as const;
/** Why there is a note under a card. */
export type ReminderKind = (typeof CALLING_KINDS)[number] | QuietKind;
export type QuietKind = (typeof QUIET_KINDS)[number];

export const isQuiet = (kind: ReminderKind): kind is QuietKind => QUIET_KINDS.some((quiet) => quiet === kind);

/**
 * The notes that are still to be posted under cards. One is posted at most once: `claim` puts it down as possibly in
 * the chat before anything goes out, and only an answer that nothing arrived takes that back.
 */
export interface ReminderOutbox {
  /**
   * Takes a note of one channel that still says what is so; null where there is none. Quiet ones come last: none while the channel
   * has cards to send or to change, and none before its own card shows the same.
   */
  claim(input: { readonly channel: ChannelId }): Promise<DueReminder | null>;
  record(input: { readonly id: string; readonly result: ReminderResult }): Promise<void>;
}

export interface DueReminder {
  /** A UUID; where the platform has an idempotency key, this is it. */
  readonly id: string;
  readonly confirmationId: ConfirmationId;
  readonly kind: ReminderKind;
  /** The card under which it belongs. */
  readonly messageId: string;
  /** Whose direct message the card is; null: it is in the channel's chat. */
  readonly direct: DirectRecipient | null;
  /** Tries that did not arrive, before this one. */
  readonly failedAttempts: number;
}

export type ReminderResult =
  | { readonly kind: 'sent' }
  | { readonly kind: 'uncertain' | 'failed'; readonly error: string }
  /** It did not arrive. */
  | { readonly kind: 'retry'; readonly error: string; readonly retryInMs: number };
