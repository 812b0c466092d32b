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

  it('take the long connection without the secrets of webhooks', () => {
    const { encryptKey: _, verificationToken: __, ...app } = APP;
    const settings = feishuChannelKind.settings.parse({ ...app, mode: 'long-connection' });
    expect(settings).toEqual({
      ...app,
      domain: 'https://open.feishu.cn',
      messagesPerSecond: 5,
      mode: 'long-connection',
      verificationToken: '',
    });
    expect(feishuChannelKind.secrets(settings)).toEqual([APP.appSecret]);
  });

  it('keep the verification token for the long connection where there is one', () => {
    const settings = feishuChannelKind.settings.parse({ ...APP, mode: 'long-connection' });
    expect(feishuChannelKind.secrets(settings)).toEqual([APP.appSecret, APP.verificationToken]);
  });

  it.each(['cli_a1b2c3d4e5f6071', 'cli_a1b2c3d4e5f60718x', 'a1b2c3d4e5f60718', 'cli_a1b2c3d4e5f6071g'])(
    'refuse the long connection for the app %s, with which nothing would connect',
    (appId) => {
      expect(faultsOf({ ...APP, appId, mode: 'long-connection' })).toEqual([
        expect.stringMatching(/^appId: .*16 hexadecimal digits/),
      ]);
      expect(faultsOf({ ...APP, appId })).toEqual([]);
    },
  );

  it('refuse a mode that nobody knows', () => {
    expect(faultsOf({ ...APP, mode: 'socket' })).toEqual(['mode: mode must be webhook or long-connection']);
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
