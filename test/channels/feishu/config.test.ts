import { describe, expect, it } from 'vitest';
import { feishuChannelKind } from '../../../channels/feishu/index.ts';
import { APP } from './feishu-rig.ts';

const faultsOf = (settings: object): readonly string[] => {
  const result = feishuChannelKind.settings.safeParse(settings);
  return result.success
    ? []
    : result.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
};

describe('settings of a Feishu channel', () => {
  it('default to the Chinese platform and to webhooks', () => {
    expect(feishuChannelKind.settings.parse({ ...APP })).toEqual({
      ...APP,
      domain: 'https://open.feishu.cn',
      messagesPerSecond: 5,
      mode: 'webhook',
    });
  });

  it.each(['https://open.larksuite.com', 'http://127.0.0.1:9000/', 'http://127.0.0.1:9000/feishu'])(
    'take the domain %s without a trailing slash',
    (domain) => {
      expect(feishuChannelKind.settings.parse({ ...APP, domain }).domain).toBe(domain.replace(/\/$/, ''));
    },
  );

  it.each([
    'open.feishu.cn',
    'ftp://open.feishu.cn',
    'https://u:p@open.feishu.cn',
    'https://open.feishu.cn?x=1',
  ])('refuse the domain %s', (domain) => {
    expect(faultsOf({ ...APP, domain })).toHaveLength(1);
  });

  it.each(Object.keys(APP))('are at fault without %s, or with it empty or padded', (key) => {
    const { [key as keyof typeof APP]: value, ...rest } = APP;
    for (const settings of [rest, { ...APP, [key]: '' }, { ...APP, [key]: `${value}\n` }]) {
      const faults = faultsOf(settings);
      expect(faults.length).toBeGreaterThan(0);
      for (const fault of faults) expect(fault.startsWith(`${key}: `)).toBe(true);
    }
  });

  it('refuse the long connection, which this version does not have', () => {
    expect(faultsOf({ ...APP, mode: 'long-connection' })).toEqual([
      'mode: long-connection is not available in this version; use webhook',
    ]);
  });

  it('refuse unknown keys', () => {
    expect(faultsOf({ ...APP, encriptKey: 'x' })).toHaveLength(1);
  });

  it('name every secret for redaction', () => {
    const settings = feishuChannelKind.settings.parse({ ...APP });
    expect(feishuChannelKind.secrets(settings)).toEqual([
      APP.appSecret,
      APP.encryptKey,
      APP.verificationToken,
    ]);
  });
});

describe('a person’s Feishu identity', () => {
  it('is a tenant and whichever ids are given', () => {
    expect(feishuChannelKind.identity.parse({ tenant: 't', openId: 'ou_1' })).toEqual({
      provider: 'feishu',
      tenant: 't',
      ids: { openId: 'ou_1' },
    });
    expect(feishuChannelKind.identity.parse({ tenant: 't', unionId: 'on_1', userId: 'u1' }).ids).toEqual({
      unionId: 'on_1',
      userId: 'u1',
    });
  });

  it.each([
    { tenant: 't' },
    { openId: 'ou_1' },
    { tenant: 't', openId: '' },
    { tenant: 't', openid: 'ou_1' },
  ])('is refused as %j', (identity) => {
    expect(feishuChannelKind.identity.safeParse(identity).success).toBe(false);
  });
});
