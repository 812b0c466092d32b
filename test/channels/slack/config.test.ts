import { describe, expect, it } from 'vitest';
import { slackChannelKind } from '../../../channels/slack/index.ts';
import { SLACK, SLACK_APP_TOKEN, slackChannel } from './fixture.ts';

const faultsOf = (settings: unknown) =>
  slackChannelKind.settings.safeParse(settings).error?.issues.map((issue) => issue.path.join('.')) ?? [];

describe('the settings of a Slack channel', () => {
  it('default to the public API over HTTP', () => {
    expect(slackChannelKind.settings.parse(SLACK)).toEqual({
      ...SLACK,
      apiUrl: 'https://slack.com/api/',
      messagesPerSecond: 1,
      mode: 'http',
    });
  });

  it('send a message a second to a channel where nothing else is said', () => {
    const { pace } = slackChannel({ apiUrl: 'http://127.0.0.1:9/api/' });
    expect(pace?.messages).toEqual({ perSecond: 1, burst: 1 });
  });

  it('take an empty app token and an empty app id as not given', () => {
    const settings = slackChannelKind.settings.parse({ ...SLACK, appToken: '', appId: '', mode: 'http' });
    expect(settings).toMatchObject({ appId: '' });
  });

  it('end the API address with a slash', () => {
    const settings = slackChannelKind.settings.parse({ ...SLACK, apiUrl: 'http://127.0.0.1:9/api' });
    expect(settings.apiUrl).toBe('http://127.0.0.1:9/api/');
  });

  it.each([
    ['without a signing secret', { signingSecret: undefined }, 'signingSecret'],
    ['with an empty signing secret', { signingSecret: '' }, 'signingSecret'],
    ['with a blank bot token', { botToken: '  ' }, 'botToken'],
    ['without a bot token', { botToken: undefined }, 'botToken'],
    ['with a channel name for an id', { channel: '#finance' }, 'channel'],
    ['with a user for a channel', { channel: 'U0LIWEI' }, 'channel'],
    ['without a team', { team: undefined }, 'team'],
    ['with an app id of another shape', { appId: 'countersign' }, 'appId'],
    ['with an address that is none', { apiUrl: 'ftp://slack.com/api/' }, 'apiUrl'],
    ['with a mode that nobody knows', { mode: 'sockets' }, 'mode'],
    ['with an app token that http does not use', { appToken: 'xapp-1-A0-secret' }, 'appToken'],
    ['with sockets and no app token', { mode: 'socket' }, 'appToken'],
    ['with sockets and an empty app token', { mode: 'socket', appToken: '' }, 'appToken'],
    ['with sockets and a bot token for an app token', { mode: 'socket', appToken: 'xoxb-1' }, 'appToken'],
  ])('are refused %s', (_what, change, path) => {
    expect(faultsOf({ ...SLACK, ...change })).toEqual([path]);
  });

  it('take sockets with an app token, and need no signing secret then', () => {
    const { signingSecret: _, ...app } = SLACK;
    const settings = slackChannelKind.settings.parse({ ...app, mode: 'socket', appToken: SLACK_APP_TOKEN });
    expect(settings).toMatchObject({ mode: 'socket', appToken: SLACK_APP_TOKEN });
    expect(settings).not.toHaveProperty('signingSecret');
    expect(slackChannelKind.secrets(settings)).toEqual([SLACK.botToken, SLACK_APP_TOKEN]);
  });

  it('are refused with a key that nobody knows, by its name', () => {
    const { error } = slackChannelKind.settings.safeParse({ ...SLACK, chanel: 'C0FINANCE' });
    expect(error?.issues[0]).toMatchObject({ code: 'unrecognized_keys', keys: ['chanel'] });
  });

  it('name every secret for redaction', () => {
    const settings = slackChannelKind.settings.parse(SLACK);
    expect(slackChannelKind.secrets(settings)).toEqual([SLACK.botToken, SLACK.signingSecret]);
  });
});

describe("a person's Slack identity", () => {
  it('is a user in a team', () => {
    const identity = slackChannelKind.identity.parse({ team: 'T0ACME', user: 'U0LIWEI' });
    expect(identity).toEqual({ provider: 'slack', tenant: 'T0ACME', ids: { user: 'U0LIWEI' } });
  });

  it('or an e-mail address there, whatever its case', () => {
    const identity = slackChannelKind.identity.parse({ team: 'T0ACME', email: 'Li.Wei@acme.example' });
    expect(identity).toEqual({ provider: 'slack', tenant: 'T0ACME', ids: { email: 'li.wei@acme.example' } });
  });

  it.each([
    ['without a team', { user: 'U0LIWEI' }],
    ['with a name for a user', { team: 'T0ACME', user: 'li.wei' }],
    ['with another key', { team: 'T0ACME', user: 'U0LIWEI', nick: 'li.wei' }],
    ['without a user and an address', { team: 'T0ACME' }],
    ['with an address that is none', { team: 'T0ACME', email: 'li.wei' }],
  ])('is refused %s', (_what, identity) => {
    expect(slackChannelKind.identity.safeParse(identity).success).toBe(false);
  });
});
