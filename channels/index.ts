import type { AnyChannelKind } from '../src/channel/channel-kind.ts';
import { feishuChannelKind } from './feishu/index.ts';
import { slackChannelKind } from './slack/index.ts';
import { telegramChannelKind } from './telegram/index.ts';

/** The channels this service is built with: one folder each, and two lines here. */
export const CHANNEL_KINDS: readonly AnyChannelKind[] = [
  feishuChannelKind,
  slackChannelKind,
  telegramChannelKind,
];
