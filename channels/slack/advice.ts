import { notReached } from '../../src/channel/diagnosis.ts';
import type { LocalizedText } from '../../src/locale.ts';

const APP = 'api.slack.com/apps';

/** What an operator clicks where, by Slack's error code; null for an error that says nothing to them. */
export function slackAdvice(error: string): LocalizedText | null {
  const code = /[a-z][a-z0-9]*(?:_[a-z0-9]+)+/.exec(error.slice(error.indexOf(':') + 1))?.[0] ?? '';
  if (Object.hasOwn(ADVICE, code)) return ADVICE[code] ?? null;
  return NOT_REACHED.test(error) ? REACH : null;
}

/** As `client.ts` and the delivery worker word it. */
const NOT_REACHED = /: (?:HTTP \d|no answer|cannot connect|unreadable answer)|^timed_out$/;
const REACH = notReached('apiUrl');

const TOKEN: LocalizedText = {
  'zh-CN': `在 ${APP} → 你的应用 → OAuth & Permissions 重新复制 Bot User OAuth Token（xoxb-…）到 botToken；应用被移除时先点 Install to Workspace。`,
  'en-US': `At ${APP} → your app → OAuth & Permissions copy the Bot User OAuth Token (xoxb-…) into botToken again; where the app was removed, press Install to Workspace first.`,
};
const SCOPE: LocalizedText = {
  'zh-CN': `在 ${APP} → 你的应用 → OAuth & Permissions → Bot Token Scopes 添加缺少的权限，然后点 Reinstall to Workspace。`,
  'en-US': `At ${APP} → your app → OAuth & Permissions → Bot Token Scopes add what is missing, then press Reinstall to Workspace.`,
};
const INVITE: LocalizedText = {
  'zh-CN': '在该频道中输入 /invite @你的应用；channel 要填频道 id（频道详情底部，C…），不是名称。',
  'en-US':
    'In the channel type /invite @your-app; `channel` takes the id (at the bottom of the channel details, C…), not the name.',
};
const ARCHIVED: LocalizedText = {
  'zh-CN': '频道已归档：恢复该频道，或在 channel 中改填另一个频道。',
  'en-US': 'The channel is archived: restore it, or name another one in `channel`.',
};
const MEMBER: LocalizedText = {
  'zh-CN':
    '在 people 中改正此人的 slack.user（个人资料 → ⋮ → Copy member ID）；机器人和停用的账号收不到私信。',
  'en-US':
    'Mend this person’s slack.user in `people` (profile → ⋮ → Copy member ID); bots and disabled accounts get no direct messages.',
};

const ADVICE: Readonly<Record<string, LocalizedText>> = {
  not_authed: TOKEN,
  invalid_auth: TOKEN,
  token_revoked: TOKEN,
  token_expired: TOKEN,
  account_inactive: TOKEN,
  missing_scope: SCOPE,
  no_permission: SCOPE,
  channel_not_found: INVITE,
  not_in_channel: INVITE,
  is_archived: ARCHIVED,
  channel_is_archived: ARCHIVED,
  user_not_found: MEMBER,
  users_not_found: MEMBER,
  user_disabled: MEMBER,
  cannot_dm_bot: MEMBER,
};

export const SLACK_ADVICE = { scope: SCOPE, token: TOKEN, reach: REACH } as const;
