import { z } from 'zod';
import type { ChannelIdentity } from '../../src/channel/channel-kind.ts';

/** Shapes of Slack's ids. They go into API parameters and are compared with what callbacks carry. */
export const SLACK_ID = {
  team: /^[TE][A-Za-z0-9_-]{1,60}$/,
  user: /^[UW][A-Za-z0-9_-]{1,60}$/,
  channel: /^[CGD][A-Za-z0-9_-]{1,60}$/,
  app: /^A[A-Za-z0-9_-]{1,60}$/,
  timestamp: /^\d{1,15}\.\d{1,10}$/,
} as const;

export interface SlackSettings {
  /** Base of the Web API, ending in a slash. */
  readonly apiUrl: string;
  readonly botToken: string;
  readonly signingSecret: string;
  readonly team: string;
  /** Empty where it was not given: then `api_app_id` is not compared. */
  readonly appId: string;
  readonly channel: string;
  /** How fast new messages go out to the channel. */
  readonly messagesPerSecond: number;
}

const NOT_AVAILABLE = 'not available in this version';

const secret = z.string().regex(/^\S+$/, 'has to be a secret without spaces, and not empty');

/** The keys of a `channels[]` entry of kind `slack`. An empty `appToken` or `appId` counts as not given. */
export const slackSettings: z.ZodType<SlackSettings> = z
  .strictObject({
    apiUrl: z.url({ protocol: /^https?$/ }).default('https://slack.com/api/'),
    botToken: secret,
    signingSecret: secret,
    appToken: z
      .string()
      .refine((token) => token === '', `is for socket mode, which is ${NOT_AVAILABLE}`)
      .optional(),
    team: z.string().regex(SLACK_ID.team, 'has to be a Slack team id, like T0ACME'),
    appId: z
      .string()
      .regex(/^(A[A-Za-z0-9_-]{1,60})?$/, 'has to be a Slack app id, like A0COUNTER')
      .default(''),
    channel: z
      .string()
      .regex(SLACK_ID.channel, 'has to be a Slack channel id, like C0FINANCE (not its name)'),
    messagesPerSecond: z.number().min(0.05).max(100).default(1),
    mode: z
      .enum(['http', 'socket'])
      .refine((mode) => mode === 'http', `has to be http; socket mode is ${NOT_AVAILABLE}`)
      .default('http'),
  })
  .transform(({ appToken: _appToken, mode: _mode, apiUrl, ...settings }) => ({
    ...settings,
    apiUrl: apiUrl.endsWith('/') ? apiUrl : `${apiUrl}/`,
  }));

/** The value of `people[].slack`: a team and the person's id in it, or their e-mail address there. */
export const slackIdentity: z.ZodType<ChannelIdentity> = z
  .strictObject({
    team: z.string().regex(SLACK_ID.team, 'has to be a Slack team id, like T0ACME'),
    user: z.string().regex(SLACK_ID.user, 'has to be a Slack user id, like U0LIWEI').optional(),
    email: z.email('has to be an e-mail address').transform(emailId).optional(),
  })
  .refine(({ user, email }) => user ?? email, 'needs user or email')
  .transform(({ team, user, email }) => ({
    provider: 'slack',
    tenant: team,
    ids: { ...(user && { user }), ...(email && { email }) },
  }));

/** Addresses are compared without regard to case. */
export function emailId(address: string): string {
  return address.toLowerCase();
}
