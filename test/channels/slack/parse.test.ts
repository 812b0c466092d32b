import { describe, expect, it } from 'vitest';
import { parseCallback } from '../../../channels/slack/parse.ts';
import { slackCard, TOKEN } from './fixture.ts';

const REQUEST = slackCard().confirmationId;

/** As Slack documents a tap on a message's button. */
function blockActions(changes: Readonly<Record<string, unknown>> = {}) {
  return {
    type: 'block_actions',
    user: { id: 'U0LIWEI', username: 'li.wei', name: 'li.wei', team_id: 'T0ACME' },
    api_app_id: 'A0COUNTER',
    token: 'deprecated',
    container: {
      type: 'message',
      message_ts: '1796016673.000100',
      channel_id: 'C0FINANCE',
      is_ephemeral: false,
    },
    trigger_id: '12466734323.1395872398.0d1c',
    team: { id: 'T0ACME', domain: 'acme' },
    enterprise: null,
    is_enterprise_install: false,
    channel: { id: 'C0FINANCE', name: 'finance' },
    message: { type: 'message', user: 'U0BOT', ts: '1796016673.000100', text: 'Approval needed', blocks: [] },
    state: { values: {} },
    response_url: 'https://hooks.slack.com/actions/T0ACME/1/x',
    actions: [
      {
        action_id: 'countersign.approve',
        block_id: 'countersign.actions',
        text: { type: 'plain_text', text: 'Approve', emoji: false },
        value: `${REQUEST}.${TOKEN}`,
        type: 'button',
        action_ts: '1796016680.123456',
      },
    ],
    ...changes,
  };
}

function viewSubmission(changes: Readonly<Record<string, unknown>> = {}, reason: string | null = 'Too much') {
  return {
    type: 'view_submission',
    team: { id: 'T0ACME', domain: 'acme' },
    user: { id: 'U0LIWEI', username: 'li.wei', name: 'li.wei', team_id: 'T0ACME' },
    api_app_id: 'A0COUNTER',
    trigger_id: '1.2.3',
    view: {
      id: 'V0VIEW',
      team_id: 'T0ACME',
      app_id: 'A0COUNTER',
      type: 'modal',
      callback_id: 'countersign.reason',
      private_metadata: JSON.stringify({
        request: REQUEST,
        token: TOKEN,
        verdict: 'reject',
        person: 'U0LIWEI',
        chat: 'C0FINANCE',
        message: '1796016673.000100',
      }),
      state: { values: { 'countersign.reason': { reason: { type: 'plain_text_input', value: reason } } } },
      ...changes,
    },
    response_urls: [],
  };
}

const parse = (payload: unknown) =>
  parseCallback(Buffer.from(new URLSearchParams({ payload: JSON.stringify(payload) }).toString()));
const eventOf = (payload: unknown) => {
  const parsed = parse(payload);
  if (parsed.kind !== 'event') throw new Error(`not an event: ${parsed.kind}`);
  return parsed.event;
};
const action = (changes: Readonly<Record<string, unknown>>) =>
  blockActions({ actions: [{ ...blockActions().actions[0], ...changes }] });

describe('a tap on a card', () => {
  it('says who acted, where, on which message and what', () => {
    expect(eventOf(blockActions())).toEqual({
      type: 'tap',
      actor: { provider: 'slack', tenant: 'T0ACME', ids: { user: 'U0LIWEI' }, isBot: false },
      app: 'A0COUNTER',
      tenant: 'T0ACME',
      chat: 'C0FINANCE',
      messageId: '1796016673.000100',
      confirmation: REQUEST,
      token: TOKEN,
      cardVersion: null,
      action: 'approve',
      reason: undefined,
      openedFor: null,
      eventId: '1796016680.123456',
      handle: { surface: 'message', triggerId: '12466734323.1395872398.0d1c' },
    });
  });

  it('keeps the team of the person apart from the team of the chat', () => {
    const user = { id: 'U0LIWEI', name: 'li.wei', team_id: 'T0OTHER' };
    expect(eventOf(blockActions({ user }))).toMatchObject({ tenant: 'T0ACME', actor: { tenant: 'T0OTHER' } });
  });

  it('takes the enterprise for the team where an organization-wide app gets none', () => {
    const user = { id: 'W0LIWEI', name: 'li.wei' };
    const event = eventOf(blockActions({ team: null, enterprise: { id: 'E0ACME', name: 'Acme' }, user }));
    expect(event).toMatchObject({ tenant: 'E0ACME', actor: { tenant: 'E0ACME', ids: { user: 'W0LIWEI' } } });
  });

  it('takes nothing about the person from the button', () => {
    const value = `${REQUEST}.${TOKEN}`;
    const event = eventOf(action({ value, user: 'U0WANG', user_id: 'U0WANG' }));
    expect(event).toMatchObject({ actor: { ids: { user: 'U0LIWEI' } } });
  });

  it.each([
    ['nothing', undefined],
    ['another shape', 'approve'],
    ['no token', REQUEST],
    ['a request that is no id', `../../x.${TOKEN}`],
    ['a line break in the token', `${REQUEST}.a\nb`],
  ])('with %s in the button names no request, so that no delivery matches', (_what, value) => {
    expect(eventOf(action({ value }))).toMatchObject({ type: 'tap', confirmation: null, token: null });
  });

  it('says where the person is a bot', () => {
    const user = { id: 'U0ROBOT', name: 'robot', team_id: 'T0ACME', is_bot: true };
    expect(eventOf(blockActions({ user }))).toMatchObject({ actor: { isBot: true } });
  });

  it('counts the first action only', () => {
    const first = blockActions().actions[0];
    const event = eventOf(
      blockActions({ actions: [{ ...first, action_id: 'countersign.reject' }, { ...first }] }),
    );
    expect(event).toMatchObject({ action: 'reject' });
  });
});

describe('a submitted modal', () => {
  it('carries the reason, the card it was opened on and for whom', () => {
    expect(eventOf(viewSubmission())).toEqual({
      type: 'tap',
      actor: { provider: 'slack', tenant: 'T0ACME', ids: { user: 'U0LIWEI' }, isBot: false },
      app: 'A0COUNTER',
      tenant: 'T0ACME',
      chat: 'C0FINANCE',
      messageId: '1796016673.000100',
      confirmation: REQUEST,
      token: TOKEN,
      cardVersion: null,
      action: 'reject',
      reason: 'Too much',
      openedFor: 'U0LIWEI',
      eventId: 'V0VIEW',
      handle: { surface: 'modal', locale: null },
    });
  });

  it('keeps a reason as it was typed', () => {
    const reason = ' 第一行\n"第二行" 🚫 <@U0WANG> ';
    expect(eventOf(viewSubmission({}, reason))).toMatchObject({ reason });
  });

  it.each([
    ['null', null],
    ['nothing', ''],
    ['spaces', '  \n'],
  ])('with %s typed has an empty reason', (_what, typed) => {
    expect(eventOf(viewSubmission({}, typed))).toMatchObject({ reason: '' });
  });

  it.each([
    ['without a context', { private_metadata: '' }],
    ['with a context that is not JSON', { private_metadata: '{' }],
    ['with a context of another shape', { private_metadata: '{"request":"x"}' }],
    ['with a context over 3,000 characters', { private_metadata: JSON.stringify({ x: 'y'.repeat(3000) }) }],
    ["of another app's view", { app_id: 'A0OTHER' }],
    ['of another modal', { callback_id: 'feedback' }],
  ])('%s is nothing we act on', (_what, changes) => {
    expect(eventOf(viewSubmission(changes))).toMatchObject({ type: 'unsupported' });
  });
});

describe('anything else that Slack signs', () => {
  it.each([
    ['the link button', action({ action_id: 'countersign.open' })],
    ["another app's button", action({ action_id: 'vote' })],
    ['no actions', blockActions({ actions: [] })],
    ['a number for a user', blockActions({ user: { id: 42 } })],
    ['a user id of another shape', blockActions({ user: { id: 'li.wei' } })],
    ['a bot id for a user', blockActions({ user: { id: 'B0BOT' } })],
    ['a path for a channel', blockActions({ channel: { id: 'C0/../x' } })],
    ['no channel', blockActions({ channel: undefined })],
    ['no team and no enterprise', blockActions({ team: null })],
    [
      'an ephemeral message',
      blockActions({
        container: { type: 'message', message_ts: '1796016673.000100', is_ephemeral: true },
      }),
    ],
    ['a closed modal', { type: 'view_closed' }],
    ['no type', {}],
    ['null', null],
    ['a list', []],
    ['a polluted prototype', JSON.parse('{"__proto__":{"type":"block_actions"}}')],
  ])('is answered and ignored: %s', (_what, payload) => {
    expect(eventOf(payload)).toMatchObject({ type: 'unsupported' });
  });

  it.each([
    ['two messages', blockActions({ message: { ts: '1.1' } })],
    [
      'two channels',
      blockActions({
        container: { type: 'message', message_ts: '1796016673.000100', channel_id: 'C0OTHER' },
      }),
    ],
    [
      'a value that is no text',
      blockActions({ actions: [{ action_id: 'countersign.approve', value: { request: 'x' } }] }),
    ],
  ])('names no card, so that it is refused on the record: %s', (_what, payload) => {
    expect(eventOf(payload)).toMatchObject({
      ...{ type: 'tap', action: 'approve', confirmation: null, token: null, cardVersion: null },
    });
  });

  it.each([
    ['two payloads', 'payload=%7B%7D&payload=%7B%7D'],
    ['no payload', 'a=b'],
    ['an empty body', ''],
    ['broken JSON', 'payload=%7B'],
    ['a JSON body', '{"type":"event_callback"}'],
  ])('is answered and ignored: %s', (_what, body) => {
    expect(parseCallback(Buffer.from(body))).toMatchObject({ kind: 'event', event: { type: 'unsupported' } });
  });

  it('gives a URL check its challenge back', () => {
    const body = JSON.stringify({
      token: 't',
      challenge: '3eZbrw1aBm2rZgRNFdxV2595E9CY',
      type: 'url_verification',
    });
    expect(parseCallback(Buffer.from(body))).toEqual({
      kind: 'challenge',
      challenge: '3eZbrw1aBm2rZgRNFdxV2595E9CY',
    });
  });

  it('knows an SSL check, but not one that smuggles a payload', () => {
    expect(parseCallback(Buffer.from('ssl_check=1&token=x'))).toEqual({ kind: 'ssl-check' });
    const smuggled = `ssl_check=1&${new URLSearchParams({ payload: JSON.stringify(blockActions()) })}`;
    expect(parseCallback(Buffer.from(smuggled))).toMatchObject({ kind: 'event' });
  });
});
