import { z } from 'zod';
import type { ChannelHealth } from '../../src/channel/channel.ts';
import { checkCallback } from '../../src/channel/check-callback.ts';
import { checkClock } from '../../src/channel/check-clock.ts';
import {
  type ChannelFinding,
  type DiagnosisInput,
  failed,
  passed,
  skipped,
  verbatim,
} from '../../src/channel/diagnosis.ts';
import type { Clock } from '../../src/clock.ts';
import type { LocalizedText } from '../../src/locale.ts';
import { FEISHU_ADVICE, feishuAdvice } from './advice.ts';
import type { ApiResult, FeishuClient } from './client.ts';
import type { FeishuSettings } from './config.ts';
import { urlCheck } from './url-check.ts';

interface Diagnosing extends DiagnosisInput {
  readonly settings: FeishuSettings;
  readonly client: FeishuClient;
  readonly clock: Clock;
  /** Asks whether the platform would let this app connect; null where it calls us. */
  readonly connection: { check(signal: AbortSignal): Promise<ChannelHealth> } | null;
}

/**
 * Step by step what an app needs: credentials, the bot, permissions, the tenant, the group, the way in, the clock.
 * Sends nothing. What the app has no permission to ask about is skipped: it may be right all the same.
 */
export async function* diagnoseFeishu(input: Diagnosing): AsyncIterable<ChannelFinding> {
  const { settings, client, clock, connection, signal } = input;
  const ask = (path: `/open-apis/${string}`) => client.call({ method: 'GET', path, signal });
  const bot = await ask('/open-apis/bot/v3/info');
  yield bot.kind === 'done'
    ? passed({
        'zh-CN': `凭证有效（${settings.appId}），机器人已启用`,
        'en-US': `signed in as ${settings.appId}, a bot`,
      })
    : failed(verbatim(bot.error), feishuAdvice(bot.error) ?? FEISHU_ADVICE.bot);
  // Everything else would only repeat it.
  if (bot.kind === 'refused' || (bot.kind !== 'done' && feishuAdvice(bot.error) === FEISHU_ADVICE.reach))
    return;
  yield checkPermissions(await ask('/open-apis/application/v6/scopes'), input);
  yield checkTenant(await ask('/open-apis/tenant/v2/tenant/query'), settings);
  yield /^oc_[A-Za-z0-9_-]{1,128}$/.test(settings.chat)
    ? checkGroup(await ask(`/open-apis/im/v1/chats/${settings.chat}/members/is_in_chat`), settings)
    : failed(
        { 'zh-CN': `chat 不是群 id：${settings.chat}`, 'en-US': `chat is no group's id: ${settings.chat}` },
        FEISHU_ADVICE.inGroup,
      );
  if (connection) yield connected(await connection.check(signal));
  else if (settings.mode === 'webhook')
    yield await checkCallback({ ...urlCheck(settings, clock), url: input.callbackUrl, signal });
  yield await checkClock({ url: settings.domain, clock, signal });
}

function checkPermissions(result: ApiResult, { needs }: Diagnosing): ChannelFinding {
  const scopes = result.kind === 'done' ? permissions.safeParse(result.data).data?.scopes : undefined;
  if (scopes === undefined)
    return notTold({ 'zh-CN': '已开通的权限', 'en-US': 'the permissions granted' }, result);
  const granted = new Set(
    scopes.filter((scope) => scope.grant_status === 1).map((scope) => scope.scope_name),
  );
  const wanted = [
    // Either of them lets a bot send.
    ['im:message:send_as_bot', 'im:message'],
    ...(needs.directory ? [['contact:user.email:readonly', 'contact:contact:readonly_as_app']] : []),
  ];
  const missing = wanted.filter((oneOf) => !oneOf.some((scope) => granted.has(scope)));
  if (missing.length === 0)
    return passed({ 'zh-CN': '权限齐全', 'en-US': 'has every permission that the configuration needs' });
  const names = missing.map(([first]) => first).join(', ');
  return failed({ 'zh-CN': `缺少权限：${names}`, 'en-US': `lacks ${names}` }, FEISHU_ADVICE.permission);
}

function checkTenant(result: ApiResult, { tenant }: FeishuSettings): ChannelFinding {
  const key =
    result.kind === 'done' ? tenantAnswer.safeParse(result.data).data?.tenant.tenant_key : undefined;
  if (key === undefined) return notTold({ 'zh-CN': '租户标识', 'en-US': 'the tenant key' }, result);
  if (key === tenant)
    return passed({ 'zh-CN': `租户 ${tenant}`, 'en-US': `belongs to the tenant ${tenant}` });
  return failed(
    {
      'zh-CN': `应用属于租户 ${key}，不是 ${tenant}`,
      'en-US': `the app belongs to the tenant ${key}, not to ${tenant}`,
    },
    {
      'zh-CN': `把 channels 与 people 中的 tenant 改为 ${key}：否则每次点击都会被拒绝。`,
      'en-US': `Set tenant to ${key} in channels and people: every tap is refused otherwise.`,
    },
  );
}

function checkGroup(result: ApiResult, { chat }: FeishuSettings): ChannelFinding {
  const inside = result.kind === 'done' ? membership.safeParse(result.data).data?.is_in_chat : undefined;
  if (inside === undefined)
    return notTold({ 'zh-CN': '机器人是否在群中', 'en-US': 'whether the bot is in the group' }, result);
  return inside
    ? passed({ 'zh-CN': `机器人在群 ${chat} 中`, 'en-US': `the bot is in the group ${chat}` })
    : failed(
        { 'zh-CN': `机器人不在群 ${chat} 中`, 'en-US': `the bot is not in the group ${chat}` },
        FEISHU_ADVICE.inGroup,
      );
}

/** Asking about itself takes permissions that cards do not need. */
function notTold(what: LocalizedText, result: ApiResult): ChannelFinding {
  const why = result.kind === 'done' ? '' : ` (${result.error})`;
  return skipped(
    {
      'zh-CN': `平台未告知${what['zh-CN']}${why}`,
      'en-US': `the platform does not tell ${what['en-US']}${why}`,
    },
    {
      'zh-CN': '用 doctor --send 发送一张卡片来确认。',
      'en-US': 'Make sure by sending a card: `doctor --send`.',
    },
  );
}

function connected({ ready, detail }: ChannelHealth): ChannelFinding {
  if (ready) return passed({ 'zh-CN': '长连接：飞书允许此应用连接', 'en-US': detail });
  const { reach } = FEISHU_ADVICE;
  return failed(verbatim(detail), feishuAdvice(detail) === reach ? reach : LONG_CONNECTION);
}

const LONG_CONNECTION = {
  'zh-CN':
    '开发者后台 → 事件与回调 → 回调配置 → 订阅方式：选择“使用长连接接收回调”，添加“卡片回传交互”，然后发布版本。',
  'en-US':
    'Developer console → Events & Callbacks → Callback Configuration: receive callbacks through a persistent connection, add Card action trigger, then publish a version.',
};

const permissions = z.object({
  scopes: z.array(z.object({ scope_name: z.string(), grant_status: z.number() })),
});
const tenantAnswer = z.object({ tenant: z.object({ tenant_key: z.string().min(1) }) });
const membership = z.object({ is_in_chat: z.boolean() });
