import type { StandinMessage } from '../../src/standin/feishu/message-store.ts';
import type { SlackEphemeral, SlackMessage, SlackModal } from '../../src/standin/slack/platform.ts';

/** One moment as both chats show it; null where one of them shows nothing of its own. */
export interface Scene {
  readonly name: string;
  readonly feishu: FeishuView | null;
  readonly slack: SlackView | null;
}

export interface FeishuView {
  readonly messages: readonly StandinMessage[];
  /** What stands in the form of the card. */
  readonly typed: string;
  readonly notices: readonly Notice<FeishuToast>[];
}

export interface SlackView {
  readonly messages: readonly SlackMessage[];
  /** What is open over the chat. */
  readonly modal: SlackModal | null;
  /** What stands in the modal. */
  readonly typed: string;
  readonly notices: readonly Notice<SlackEphemeral>[];
}

/** What one person is told, and after what. */
export interface Notice<Told> {
  readonly after: string;
  readonly told: Told;
}

export interface FeishuToast {
  readonly type: string;
  readonly text: string;
}

export const feishuView = (changes: Partial<FeishuView>): FeishuView => ({
  messages: [],
  typed: '',
  notices: [],
  ...changes,
});

export const slackView = (changes: Partial<SlackView>): SlackView => ({
  messages: [],
  modal: null,
  typed: '',
  notices: [],
  ...changes,
});
