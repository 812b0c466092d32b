import { notReached } from '../../src/channel/diagnosis.ts';
import type { LocalizedText } from '../../src/locale.ts';

/** What an operator clicks where, by the platform's error code; null for an error that says nothing to them. */
export function feishuAdvice(error: string): LocalizedText | null {
  const code = /\bFeishu answered (\d+)\b/.exec(error)?.[1] ?? '';
  if (Object.hasOwn(ADVICE, code)) return ADVICE[code] ?? null;
  return NOT_REACHED.test(error) ? REACH : null;
}

/** As `client.ts`, `connection-endpoint.ts` and the delivery worker word it. */
const NOT_REACHED = /without a (?:result|token)|call to Feishu (?:failed|was)|does not answer|^timed_out$/;
const REACH = notReached('domain');

const CREDENTIALS: LocalizedText = {
  'zh-CN': '开发者后台 → 你的应用 → 凭证与基础信息：重新复制 App ID 与 App Secret 到 appId、appSecret。',
  'en-US':
    'Developer console → your app → Credentials & Basic Info: copy App ID and App Secret into appId and appSecret again.',
};
const BOT: LocalizedText = {
  'zh-CN': '开发者后台 → 添加应用能力 → 机器人，然后在“版本管理与发布”创建并发布版本。',
  'en-US':
    'Developer console → Add Features → Bot, then create and publish a version under Version Management & Release.',
};
const PERMISSION: LocalizedText = {
  'zh-CN': '开发者后台 → 权限管理：开通所缺权限（至少 im:message:send_as_bot），然后发布新版本。',
  'en-US':
    'Developer console → Permissions & Scopes: add what is missing (at least im:message:send_as_bot), then publish a version.',
};
const IN_GROUP: LocalizedText = {
  'zh-CN': '在飞书群 → 设置 → 群机器人 → 添加机器人；chat 填该群的 oc_… id（群设置最底部）。',
  'en-US':
    'In the group: Settings → Bots → Add bot; `chat` takes that group’s oc_… id (at the very bottom of its settings).',
};
const AVAILABILITY: LocalizedText = {
  'zh-CN': '开发者后台 → 版本管理与发布 → 可用范围：把该审批人加入并发布；对方屏蔽机器人时请其解除。',
  'en-US':
    'Developer console → Version Management & Release → availability: add this approver and publish; who has blocked the bot has to unblock it.',
};
const CONTENT: LocalizedText = {
  'zh-CN': '内容被安全策略拒绝：请租户管理员检查数据防泄漏规则，或为策略配置备用渠道 fallback。',
  'en-US':
    'The content was refused: ask the tenant’s administrator about its data-loss rules, or give the policy a `fallback` channel.',
};
const ALLOW_LIST: LocalizedText = {
  'zh-CN': '开发者后台 → 安全设置 → IP 白名单：加入本服务的出口地址。',
  'en-US':
    'Developer console → Security Settings → IP Allowlist: add the address from which this service calls.',
};

const ADVICE: Readonly<Record<string, LocalizedText>> = {
  '10003': CREDENTIALS,
  '10014': CREDENTIALS,
  '230002': IN_GROUP,
  '232009': IN_GROUP,
  '230006': BOT,
  '230013': AVAILABILITY,
  '230053': AVAILABILITY,
  '230022': CONTENT,
  '230028': CONTENT,
  '99991401': ALLOW_LIST,
  '99991672': PERMISSION,
};

export const FEISHU_ADVICE = { permission: PERMISSION, inGroup: IN_GROUP, bot: BOT, reach: REACH } as const;
