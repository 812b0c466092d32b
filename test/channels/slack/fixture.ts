import { pino } from 'pino';
import { slackChannelKind } from '../../../channels/slack/index.ts';
import type { Card } from '../../../src/channel/card.ts';
import type { Channel, OutgoingDelivery, OutgoingUpdate } from '../../../src/channel/channel.ts';
import { type Clock, systemClock } from '../../../src/clock.ts';
import { type ConfirmationId, channelId, newConfirmationId, newDeliveryId } from '../../../src/ids.ts';
import type { Locale } from '../../../src/locale.ts';

export const SLACK = {
  botToken: 'xoxb-0000000000-example',
  signingSecret: '8f742231b10e8888abcd99yyyzzz85a5',
  team: 'T0ACME',
  appId: 'A0COUNTER',
  channel: 'C0FINANCE',
} as const;

/** For Socket Mode alone. */
export const SLACK_APP_TOKEN = 'xapp-1-A0COUNTER-0000000000-example';

export const TOKEN = 'dG9rZW4tb2YtdGhlLWRlbGl2ZXJ5';

export function slackCard(overrides: Partial<Card> = {}): Card {
  return {
    confirmationId: '0198c0de-0000-7000-8000-000000000001' as ConfirmationId,
    version: 1,
    locale: 'en-US',
    state: 'pending',
    frozen: false,
    title: 'Approval needed: oa__purchase_pay',
    tool: 'oa__purchase_pay',
    lines: [
      { label: 'amount', value: '68000.00', decisive: true },
      { label: 'currency', value: 'CNY', decisive: true },
      { label: 'payee', value: '华东设备有限公司', decisive: true },
      { label: 'memo', value: 'PO 7781', decisive: false },
    ],
    warnings: [],
    summary: { label: 'The agent says (not verified)', value: '“Pay the invoice of the press line.”' },
    facts: [
      { label: 'Asked by', value: 'procurement' },
      { label: 'Votes', value: '0/2' },
      { label: 'Decide by', value: '2026-11-30 18:20 (Asia/Shanghai, UTC+8)' },
    ],
    references: [{ label: 'Code', value: '7F3K9QZD' }],
    linesLeftOut: 0,
    outcome: [],
    verificationCode: '7F3K9QZD',
    digest: { label: 'Digest', value: 'sha256:0123456789ab…' },
    link: 'http://127.0.0.1:8080/confirmations/0198c0de-0000-7000-8000-000000000001',
    linkLabel: 'Open the full request',
    followedLink: null,
    actions: {
      kind: 'decide',
      reason: 'on-reject',
      approvable: true,
      labels: {
        approve: 'Approve',
        reject: 'Reject',
        reason: 'Why?',
        submit: 'Reject it',
        cancel: 'Cancel',
      },
    },
    translations: [],
    ...overrides,
  };
}

export function slackChannel(input: {
  readonly apiUrl: string;
  readonly clock?: Clock;
  readonly locale?: Locale;
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Every line logged, for tests that look for secrets. */
  readonly log?: string[];
}): Channel {
  const settings = slackChannelKind.settings.parse({ ...SLACK, apiUrl: input.apiUrl, ...input.settings });
  const logger = pino({ level: 'trace' }, { write: (line: string) => void input.log?.push(line) });
  return slackChannelKind.create({
    id: channelId('pay-slack'),
    settings,
    locale: input.locale ?? 'en-US',
    clock: input.clock ?? systemClock,
    logger,
  });
}

export function outgoing(
  channel: Channel,
  overrides: Partial<OutgoingUpdate> & { readonly card?: Card } = {},
): OutgoingUpdate & OutgoingDelivery {
  const { card = slackCard(), ...rest } = overrides;
  return {
    id: newDeliveryId(),
    confirmationId: newConfirmationId(),
    token: TOKEN,
    rendered: channel.render(card, TOKEN),
    attempt: 1,
    signal: AbortSignal.timeout(20_000),
    messageId: '',
    ...rest,
  };
}
