import { describe, expect, it } from 'vitest';
import { parseCallback } from '../../../channels/feishu/parse.ts';
import type { JsonObject } from '../../../src/json.ts';
import { APP, LI_WEI } from './feishu-rig.ts';

const callback = (action: JsonObject, changes: { operator?: JsonObject; header?: JsonObject } = {}) => ({
  schema: '2.0',
  header: {
    event_id: 'f7984f25108f8137722bb63c',
    token: APP.verificationToken,
    create_time: '1796034000000000',
    event_type: 'card.action.trigger',
    tenant_key: APP.tenant,
    app_id: APP.appId,
    ...changes.header,
  },
  event: {
    operator: {
      tenant_key: APP.tenant,
      open_id: LI_WEI.openId,
      union_id: LI_WEI.unionId,
      ...changes.operator,
    },
    token: 'c-1',
    action: { tag: 'button', timezone: 'Asia/Shanghai', ...action },
    host: 'im_message',
    context: { open_message_id: 'om_1', open_chat_id: APP.chat },
  },
});

const value = { action: 'approve', request: '0198', delivery: 'tok_1' };

describe('a tap on a button', () => {
  it('carries who, where and what', () => {
    expect(parseCallback(callback({ value }))).toEqual({
      type: 'tap',
      actor: {
        provider: 'feishu',
        tenant: APP.tenant,
        ids: { openId: LI_WEI.openId, unionId: LI_WEI.unionId },
        isBot: false,
      },
      app: APP.appId,
      tenant: APP.tenant,
      chat: APP.chat,
      messageId: 'om_1',
      confirmation: '0198',
      token: 'tok_1',
      cardVersion: null,
      action: 'approve',
      reason: undefined,
      openedFor: null,
      eventId: 'f7984f25108f8137722bb63c',
      handle: null,
    });
  });

  it('takes the actor from the envelope, whatever the value and the form claim', () => {
    const forged = { ...value, open_id: 'ou_boss', operator: { open_id: 'ou_boss' }, tenant_key: 'boss' };
    const form_value = { reason: 'ok', open_id: 'ou_boss', person: 'boss' };
    expect(parseCallback(callback({ value: forged, form_value }))).toMatchObject({
      actor: { tenant: APP.tenant, ids: { openId: LI_WEI.openId, unionId: LI_WEI.unionId } },
    });
  });

  it('keeps the tenant of somebody from outside apart from the chat’s', () => {
    const outside = callback({ value }, { operator: { tenant_key: 'elsewhere' } });
    expect(parseCallback(outside)).toMatchObject({ tenant: APP.tenant, actor: { tenant: 'elsewhere' } });
  });

  it('without a token leaves it to the record', () => {
    const { delivery: _, ...older } = value;
    expect(parseCallback(callback({ value: older }))).toMatchObject({ confirmation: '0198', token: null });
  });
});

describe('a submitted form', () => {
  it.each([
    ['reject.tok_1', { reason: '金额不符' }, { action: 'reject', token: 'tok_1', reason: '金额不符' }],
    ['reject.tok_1.v3', { reason: '' }, { action: 'reject', token: 'tok_1', cardVersion: 3, reason: '' }],
    ['approve.tok-1_X', { reason: '' }, { action: 'approve', token: 'tok-1_X', reason: '' }],
    ['reject', { reason: 'no' }, { action: 'reject', token: null, reason: 'no' }],
    ['reject.tok_1', {}, { action: 'reject', token: 'tok_1', reason: '' }],
    ['reject.tok_1', { reason: ['a'] }, { action: 'reject', token: 'tok_1', reason: '' }],
    ['reject.tok_1', undefined, { action: 'reject', token: 'tok_1', reason: '' }],
  ])('named %s with %j', (name, form_value, expected) => {
    const action = { name, ...(form_value && { form_value }) };
    expect(parseCallback(callback(action))).toMatchObject({ type: 'tap', confirmation: null, ...expected });
  });

  it('reads no reason from a prototype', () => {
    const form_value = JSON.parse('{"__proto__": {"reason": "forged"}}');
    expect(parseCallback(callback({ name: 'reject.t', form_value }))).toMatchObject({ reason: '' });
  });
});

describe('a button of ours that cannot be read', () => {
  it.each([
    ['a request that is no text', { value: { action: 'approve', request: 7, delivery: 'tok_1' } }],
    ['no request', { value: { action: 'approve', delivery: 'tok_1' } }],
    ['a name and a value that disagree', { name: 'reject.tok_1', value }],
  ])('names no card, so that it is refused on the record: %s', (_name, action) => {
    expect(parseCallback(callback(action))).toMatchObject({
      ...{ type: 'tap', action: 'approve', confirmation: null, token: null, cardVersion: null },
    });
  });
});

describe('what is no tap of ours is unsupported, never a throw', () => {
  it.each([
    ['a button without anything', callback({})],
    ['a value of another app', callback({ value: { action: 'approved', request: '0198' } })],
    ['a value that is text', callback({ value: '{"action":"approve","request":"0198"}' })],
    ['a name that is nearly ours', callback({ name: 'approve.tok.1' })],
    ['a name with more in front', callback({ name: 'xapprove.tok' })],
    ['another event', callback({ value }, { header: { event_type: 'im.message.receive_v1' } })],
    ['no operator tenant', callback({ value }, { operator: { tenant_key: '' } })],
    ['version 1', { open_id: 'ou_1', action: { value } }],
    ['nothing', null],
    ['a list', []],
    ['a prototype', JSON.parse('{"__proto__":{"schema":"2.0"}}')],
  ])('%s', (_name, payload) => {
    expect(parseCallback(payload).type).toBe('unsupported');
  });
});
