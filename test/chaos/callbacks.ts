import { signCallback as signFeishu } from '../../src/standin/feishu/sign-callback.ts';
import { signCallback as signSlack } from '../../src/standin/slack/send-callback.ts';
import type { WireRequest } from './post.ts';

export const SLACK_SECRET = 'slack-signing-secret';
export const FEISHU_KEY = 'feishu-encrypt-key';
export const FEISHU_TOKEN = 'feishu-verification-token';

/** A tap as either platform would report it; every field can be bent. */
export interface Tap {
  readonly verdict: 'approve' | 'reject';
  readonly confirmation: string;
  readonly token: string | null;
  readonly messageId: string;
  readonly user: string;
  /** The person's own team or tenant. */
  readonly userTenant?: string;
  readonly unionId?: string;
  readonly isBot?: boolean;
  readonly app?: string;
  readonly tenant?: string;
  readonly chat?: string;
  /** Further members of the button's value, of the form, and of the payload itself: what an attacker would add. */
  readonly extraValue?: Readonly<Record<string, unknown>>;
  readonly extraForm?: Readonly<Record<string, string>>;
  readonly extraPayload?: Readonly<Record<string, unknown>>;
  readonly ageMs?: number;
  readonly secret?: string;
}

/** `block_actions`, signed as Slack signs. */
export function slackTap(tap: Tap): WireRequest {
  const tenant = tap.tenant ?? 'T0ACME';
  const chat = tap.chat ?? 'C0FINANCE';
  const value = tap.token === null ? tap.confirmation : `${tap.confirmation}.${tap.token}`;
  return signSlack({
    payload: {
      type: 'block_actions',
      user: {
        id: tap.user,
        name: 'somebody',
        team_id: tap.userTenant ?? tenant,
        ...(tap.isBot && { is_bot: true }),
      },
      api_app_id: tap.app ?? 'A0COUNTER',
      team: { id: tenant },
      enterprise: null,
      trigger_id: '1.2.3',
      container: { type: 'message', message_ts: tap.messageId, channel_id: chat, is_ephemeral: false },
      channel: { id: chat },
      message: { ts: tap.messageId },
      actions: [
        {
          action_id: `countersign.${tap.verdict}`,
          value,
          type: 'button',
          action_ts: '1.2',
          ...tap.extraValue,
        },
      ],
      ...(tap.extraForm && { state: { values: { form: tap.extraForm } } }),
      ...tap.extraPayload,
    },
    signingSecret: tap.secret ?? SLACK_SECRET,
    nowMs: Date.now() - (tap.ageMs ?? 0),
  });
}

/** `card.action.trigger`, encrypted and signed as Feishu does. */
export function feishuTap(tap: Tap): WireRequest {
  const tenant = tap.tenant ?? '2f0acme';
  return signFeishu({
    payload: {
      schema: '2.0',
      header: {
        event_id: crypto.randomUUID(),
        token: FEISHU_TOKEN,
        event_type: 'card.action.trigger',
        tenant_key: tenant,
        app_id: tap.app ?? 'cli_a1b2c3d4e5f60718',
      },
      event: {
        operator: {
          tenant_key: tap.userTenant ?? tenant,
          open_id: tap.user,
          union_id: tap.unionId ?? `on_${tap.user}`,
        },
        action: {
          tag: 'button',
          value: { action: tap.verdict, request: tap.confirmation, delivery: tap.token, ...tap.extraValue },
          ...(tap.extraForm && { form_value: { ...tap.extraForm } }),
        },
        context: { open_message_id: tap.messageId, open_chat_id: tap.chat ?? 'oc_finance' },
      },
      ...tap.extraPayload,
    } as never,
    encryptKey: tap.secret ?? FEISHU_KEY,
    nowMs: Date.now() - (tap.ageMs ?? 0),
  });
}
