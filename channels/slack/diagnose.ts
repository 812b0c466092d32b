import { createHmac, randomUUID } from 'node:crypto';
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
import { SLACK_ADVICE, slackAdvice } from './advice.ts';
import { type SlackClient, type SlackResult, toHealth } from './client.ts';
import type { SlackSettings } from './config.ts';

/** Step by step what a Slack app needs: token, scopes, the bot in the channel, the way in, the clock. Posts nothing. */
export async function* diagnoseSlack(
  input: DiagnosisInput & {
    readonly settings: SlackSettings;
    readonly client: SlackClient;
    readonly clock: Clock;
    /** Asks whether Slack would let this app connect; null where Slack calls us. */
    readonly connection: { check(signal: AbortSignal): Promise<ChannelHealth> } | null;
  },
): AsyncIterable<ChannelFinding> {
  const { settings, client, clock, connection, signal } = input;
  const signedIn = await client.call({ method: 'auth.test', args: {}, signal });
  yield checkToken(signedIn, settings);
  if (signedIn.kind === 'ok') yield checkScopes(signedIn.data, input);
  const history = { channel: settings.channel, limit: 1 };
  yield inChannel(await client.call({ method: 'conversations.history', args: history, signal }), settings);
  yield connection
    ? connected(await connection.check(signal))
    : await checkCallback({ ...urlCheck(settings, clock), url: input.callbackUrl, signal });
  yield await checkClock({ url: settings.apiUrl, clock, signal });
}

function checkToken(signedIn: SlackResult, { team }: SlackSettings): ChannelFinding {
  const { ready, detail } = toHealth(signedIn, team);
  if (signedIn.kind !== 'ok')
    // The service works on where Slack is busy; whether the token is right is not known by that.
    return ready ? skipped(verbatim(detail)) : failed(verbatim(detail), slackAdvice(detail));
  return ready
    ? passed({ 'zh-CN': `已登录 ${team}`, 'en-US': detail })
    : failed({ 'zh-CN': `令牌不属于 ${team}，或缺少权限（${detail}）`, 'en-US': detail }, WRONG_TEAM);
}

function checkScopes(data: unknown, { needs }: DiagnosisInput): ChannelFinding {
  const scopes = granted.safeParse(data).data?.response_metadata.scopes;
  if (scopes === undefined)
    return skipped({ 'zh-CN': 'Slack 没有列出权限', 'en-US': 'Slack does not list the scopes' });
  const wanted = [
    ['chat:write'],
    ['channels:history', 'groups:history'],
    ...(needs.direct ? [['im:write'], ['im:history']] : []),
    ...(needs.directory ? [['users:read'], ['users:read.email']] : []),
  ];
  const missing = wanted.filter((oneOf) => !oneOf.some((scope) => scopes.includes(scope)));
  if (missing.length === 0)
    return passed({ 'zh-CN': '权限齐全', 'en-US': 'has every scope that the configuration needs' });
  const names = missing.map((oneOf) => oneOf.join(' / ')).join(', ');
  return failed({ 'zh-CN': `缺少权限：${names}`, 'en-US': `lacks the scopes ${names}` }, SLACK_ADVICE.scope);
}

const granted = z.object({ response_metadata: z.object({ scopes: z.array(z.string()) }) });

function inChannel(result: SlackResult, { channel }: SlackSettings): ChannelFinding {
  if (result.kind === 'ok')
    return passed({ 'zh-CN': `机器人在频道 ${channel} 中`, 'en-US': `the bot is in the channel ${channel}` });
  return failed(verbatim(result.error), slackAdvice(result.error));
}

function connected({ ready, detail }: ChannelHealth): ChannelFinding {
  if (ready) return passed({ 'zh-CN': 'Socket Mode：Slack 允许此应用连接', 'en-US': detail });
  const { reach } = SLACK_ADVICE;
  return failed(verbatim(detail), slackAdvice(detail) === reach ? reach : SOCKET_MODE);
}

const SOCKET_MODE = {
  'zh-CN':
    '在 api.slack.com/apps → 你的应用 → Socket Mode 打开开关；在 Basic Information → App-Level Tokens 生成带 connections:write 的令牌（xapp-…）并填入 appToken。',
  'en-US':
    'At api.slack.com/apps → your app → Socket Mode switch it on; under Basic Information → App-Level Tokens make one with connections:write (xapp-…) and put it into appToken.',
};

/** A URL check as Slack would sign it. */
function urlCheck(settings: SlackSettings, clock: Clock) {
  const challenge = randomUUID();
  const body = JSON.stringify({ type: 'url_verification', challenge });
  const timestamp = String(Math.floor(clock.now() / 1000));
  const secret = settings.mode === 'http' ? settings.signingSecret : '';
  const signature = createHmac('sha256', secret).update(`v0:${timestamp}:${body}`).digest('hex');
  const headers = {
    'content-type': 'application/json',
    'x-slack-request-timestamp': timestamp,
    'x-slack-signature': `v0=${signature}`,
  };
  return { body, challenge, headers };
}

const WRONG_TEAM = {
  'zh-CN':
    '把 team 改为应用所安装的工作区（app.slack.com/client/T…），或在该工作区安装应用；缺少权限时重新安装。',
  'en-US':
    'Set `team` to the workspace in which the app is installed (app.slack.com/client/T…), or install it there; where a scope is missing, add it and install again.',
};
