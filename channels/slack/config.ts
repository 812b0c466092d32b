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

export type SlackSettings = SlackApp & SlackWayIn;

interface SlackApp {
  /** Base of the Web API, ending in a slash. */
  readonly apiUrl: string;
  readonly botToken: string;
  readonly team: string;
  /** Empty where it was not given: then `api_app_id` is not compared. */
  readonly appId: string;
  readonly channel: string;
  /** How fast new messages go out to the channel. */
  readonly messagesPerSecond: number;
}

/** How taps reach us, with what proves that they come from Slack. */
export type SlackWayIn =
  /** Slack calls us and signs what it sends. */
  | { readonly mode: 'http'; readonly signingSecret: string }
  /** We connect to Slack under the app-level token; nothing that comes in there is signed. */
  | { readonly mode: 'socket'; readonly appToken: string };

const secret = z
  .string()
  .regex(/^[!-~]+$/, 'has to be a secret of letters, digits and signs without spaces, and not empty');
/** A variable of the environment that is not set reads as an empty text. */
const secretOrEmpty = z
  .string()
  .regex(/^[!-~]*$/, 'has to be a secret of letters, digits and signs without spaces');

/** The keys of a `channels[]` entry of kind `slack`. An empty `appToken`, `signingSecret` or `appId` counts as not given. */
export const slackSettings: z.ZodType<SlackSettings> = z
  .strictObject({
    apiUrl: z.url({ protocol: /^https?$/ }).default('https://slack.com/api/'),
    botToken: secret,
    signingSecret: secretOrEmpty.default(''),
    appToken: secretOrEmpty.default(''),
    team: z.string().regex(SLACK_ID.team, 'has to be a Slack team id, like T0ACME'),
    appId: z
      .string()
      .regex(/^(A[A-Za-z0-9_-]{1,60})?$/, 'has to be a Slack app id, like A0COUNTER')
      .default(''),
    channel: z
      .string()
      .regex(SLACK_ID.channel, 'has to be a Slack channel id, like C0FINANCE (not its name)'),
    messagesPerSecond: z.number().min(0.05).max(100).default(1),
    mode: z.enum(['http', 'socket']).default('http'),
  })
  .transform(({ mode, signingSecret, appToken, apiUrl, ...app }, context): SlackSettings => {
    const fault = (path: string, message: string): never => {
      context.issues.push({ code: 'custom', path: [path], message, input: app });
      return z.NEVER;
    };
    const common = { ...app, apiUrl: apiUrl.endsWith('/') ? apiUrl : `${apiUrl}/` };
    if (mode === 'socket') {
      if (!appToken.startsWith('xapp-'))
        return fault('appToken', 'has to be the app-level token (xapp-…) that mode: socket connects with');
      return { ...common, mode, appToken };
    }
    if (signingSecret === '') return fault('signingSecret', 'is required: callbacks are verified with it');
    if (appToken !== '') return fault('appToken', 'is for mode: socket; leave it out, or set that mode');
    return { ...common, mode, signingSecret };
  });

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
