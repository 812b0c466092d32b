import { createHmac, timingSafeEqual } from 'node:crypto';
import type { ReasonedAction, TapAction } from '../../src/channel/inbound-event.ts';

/** Each action in one letter: a button's data has 64 bytes. */
const LETTERS: Readonly<Record<TapAction, string>> = {
  approve: 'a',
  reject: 'r',
  revoke: 'v',
  succeeded: 's',
  failed: 'f',
  run_again: 'g',
};
const ACTIONS = Object.keys(LETTERS) as readonly TapAction[];

const actionOf = (letter: string | undefined): TapAction | null =>
  ACTIONS.find((action) => LETTERS[action] === letter) ?? null;

export interface ButtonData {
  readonly action: TapAction;
  /** The delivery's opaque token. */
  readonly token: string;
  /** Of the card that the button stands on. */
  readonly cardVersion: number;
}

/** A button's `callback_data`: at most 34 bytes with a token of 22. None of it proves anything by itself. */
export const writeButtonData = ({ action, token, cardVersion }: ButtonData): string =>
  `${LETTERS[action]}.${token}.${cardVersion}`;

const BUTTON_DATA = /^([a-z])\.([A-Za-z0-9_-]{1,48})\.(\d{1,9})$/;

/** Null for what is not ours. */
export function readButtonData(text: string): ButtonData | null {
  const [, letter, token, version] = BUTTON_DATA.exec(text) ?? [];
  const action = actionOf(letter);
  if (action === null || token === undefined) return null;
  return { action, token, cardVersion: Number(version) };
}

/** What a message that asks for a reason remembers of the tap. */
export interface PromptContext {
  readonly action: ReasonedAction;
  readonly token: string;
  readonly cardVersion: number;
  /** The message of the card. */
  readonly messageId: string;
  readonly chat: string;
  /** Who tapped; nobody else may answer. */
  readonly person: string;
}

/**
 * The last line of a message that asks for a reason. Telegram hands it back with the reply; it is signed under the
 * bot's token, so that no words of an agent in a message of ours can pass for it.
 */
export function writePromptMark(context: PromptContext, botToken: string): string {
  const { messageId, person } = context;
  return `#${writeButtonData(context)}.${messageId}.${person}.${signatureOf(context, botToken)}`;
}

const PROMPT_MARK = /(?:^|\n)#([^\n]{1,64})\.(\d{1,15})\.(\d{1,16})\.([A-Za-z0-9_-]{22})$/;

/** Null where the text is no question of this bot in this chat. */
export function readPromptMark(text: string, chat: string, botToken: string): PromptContext | null {
  const [, data = '', messageId = '', person = '', signature = ''] = PROMPT_MARK.exec(text) ?? [];
  const button = readButtonData(data);
  if (button === null || button.action === 'revoke') return null;
  const context = { ...button, action: button.action, messageId, person, chat };
  const expected = Buffer.from(signatureOf(context, botToken));
  const said = Buffer.from(signature);
  return said.length === expected.length && timingSafeEqual(said, expected) ? context : null;
}

const signatureOf = (context: PromptContext, botToken: string): string =>
  createHmac('sha256', botToken)
    .update(
      `countersign.reason\n${context.chat}\n${context.messageId}\n${context.person}\n${writeButtonData(context)}`,
    )
    .digest()
    .subarray(0, 16)
    .toString('base64url');
