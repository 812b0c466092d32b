import { describe, expect, it } from 'vitest';
import { CHANNEL_KINDS } from '../../channels/index.ts';
import { HOOK_KINDS } from '../../hooks/index.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { createPolicyEvaluator } from '../../src/confirmation/policy-evaluator.ts';
import { faultsOf, loaded, sampleEnvironment, sampleText, sampleWith } from './fixtures.ts';

describe('the sample configuration', () => {
  const { config, warnings } = loaded(sampleText);

  it('loads, with people and channels in the place of their names', () => {
    expect(config.policies).toEqual([
      {
        id: 'large-payment',
        tools: ['oa__purchase_pay', 'bank__*'],
        when: 'money(args.amount, args.currency) > money("50000", "CNY")',
        approvers: ['li.wei', 'wang.fang'],
        named: [
          { by: 'group:finance', people: ['li.wei', 'wang.fang'] },
          { by: 'person:wang.fang', people: ['wang.fang'] },
        ],
        quorum: 2,
        allowSelfApproval: false,
        channels: ['pay-feishu', 'pay-slack'],
        notify: 'group',
        fallback: null,
        decideWithinMs: 7_200_000,
        executeWithinMs: 600_000,
        outcomeWithinMs: 3_600_000,
        deliveryTimeoutMs: 900_000,
        reason: 'on-reject',
        remindAfterMs: null,
        escalation: null,
        coolOffMs: 0,
        excluded: null,
      },
    ]);
    expect(config.defaultPolicy).toEqual({
      approvers: ['li.wei', 'wang.fang'],
      named: [{ by: 'group:finance', people: ['li.wei', 'wang.fang'] }],
      quorum: 1,
      allowSelfApproval: false,
      channels: ['pay-feishu'],
      notify: 'group',
      fallback: null,
      decideWithinMs: 900_000,
      executeWithinMs: 600_000,
      outcomeWithinMs: 3_600_000,
      deliveryTimeoutMs: 900_000,
      reason: 'never',
      remindAfterMs: null,
      escalation: null,
      coolOffMs: 0,
      excluded: null,
    });
  });

  it('loads with the channels and hooks that this service is built with', () => {
    const result = loadConfig({
      text: sampleText,
      fileName: 'countersign.example.yaml',
      environment: sampleEnvironment,
      channelKinds: CHANNEL_KINDS,
      hookKinds: HOOK_KINDS,
    });
    if (result.kind === 'faulty') throw new Error(JSON.stringify(result.faults));
    expect(result.config.people).toEqual(config.people);
    expect(result.config.channels.map(({ id, kind }) => [id, kind])).toEqual([
      ['pay-feishu', 'feishu'],
      ['pay-slack', 'slack'],
    ]);
    const sockets = sampleWith(
      ['mode: webhook ', 'mode: long-connection '],
      ['mode: http ', 'mode: socket '],
    );
    const faulty = loadConfig({
      text: sockets,
      fileName: 'countersign.example.yaml',
      environment: sampleEnvironment,
      channelKinds: CHANNEL_KINDS,
      hookKinds: HOOK_KINDS,
    });
    expect(faulty).toMatchObject({
      kind: 'faulty',
      faults: [{ path: 'channels[1].appToken', message: expect.stringContaining('SLACK_APP_TOKEN') }],
    });
  });

  it('has the settings of each part', () => {
    expect(config).toMatchObject({
      organization: 'acme',
      listen: { host: '127.0.0.1', port: 8787 },
      operations: null,
      publicUrl: 'https://gate.acme.example',
      database: null,
      migrationDatabase: null,
      dataDir: '.countersign',
      locale: 'zh-CN',
      timeZone: 'Asia/Shanghai',
      trustProxy: [],
      parkAfterMs: 120_000,
      resumeAtOnce: 50,
      externalTools: ['bank__*'],
      models: { main: { baseUrl: 'http://127.0.0.1:9/v1', model: 'a-model', stream: true } },
    });
    expect(config.people[0]).toEqual({
      id: 'li.wei',
      name: '李伟',
      active: true,
      groups: ['finance'],
      roles: ['operator'],
      consoleKey: sampleEnvironment.LIWEI_KEY,
      away: null,
      identities: [
        { provider: 'feishu', tenant: '2f0acme', ids: { openId: 'ou_liwei' } },
        { provider: 'slack', tenant: 'T0ACME', ids: { user: 'U0LIWEI' } },
      ],
    });
    expect(config.agents[0]).toMatchObject({
      id: 'procurement',
      model: 'main',
      owner: 'zhao.min',
      limits: { turns: 20, toolCalls: null, wallTimeMs: null, tokens: null },
    });
    expect(config.connectors[0]).toMatchObject({
      headers: { authorization: 'Bearer oa-token' },
      tools: [{ name: 'purchase_pay', timeoutMs: 30_000, card: { amount: '/amount', decisive: [] } }],
    });
  });

  it('leaves out what is optional and expands to nothing', () => {
    expect(config.channels[1]?.settings).not.toHaveProperty('appToken');
    expect(config.channels[1]?.settings).not.toHaveProperty('appId');
    const withId = loaded(sampleText, {
      ...sampleEnvironment,
      SLACK_APP_ID: 'A0',
      DATABASE_URL: 'postgres://h/d',
    });
    expect(withId.config.channels[1]?.settings).toMatchObject({ appId: 'A0' });
    expect(withId.config.database).toBe('postgres://h/d');
  });

  it('warns that an approver who asks leaves too few others', () => {
    expect(warnings.map(({ path, message }) => `${path} ${message}`)).toEqual([
      'policies[0].quorum is 2, and only 1 could meet it where li.wei is the requester',
      'policies[0].quorum is 2, and only 1 could meet it where wang.fang is the requester',
    ]);
    const line = sampleText.split('\n').findIndex((text) => text.includes('quorum: 2')) + 1;
    expect(warnings[0]?.line).toBe(line);
  });

  it('decides a large payment, a small one, and one in another currency', () => {
    const evaluator = createPolicyEvaluator(config);
    const ask = (args: Record<string, string>) =>
      evaluator.evaluate({
        tool: 'oa__purchase_pay',
        args,
        agent: 'procurement',
        requester: 'zhao.min',
        session: null,
        metadata: {},
        flagged: true,
      });
    expect(ask({ amount: '68000.00', currency: 'CNY' })).toMatchObject({ policy: { id: 'large-payment' } });
    expect(ask({ amount: '500', currency: 'CNY' })).toMatchObject({ policy: { id: 'default' } });
    expect(ask({ amount: '500', currency: 'USD' })).toMatchObject({ kind: 'failed', argument: 'currency' });
  });

  it('has a server that lists its own tools, which patterns may speak of before it has', () => {
    expect(config.connectors[1]).toEqual({
      id: 'files',
      kind: 'mcp',
      server: {
        transport: 'stdio',
        command: ['npx', '-y', '@modelcontextprotocol/server-filesystem', '/srv/files'],
        env: {},
        cwd: null,
      },
      requiresConfirmation: ['write_file'],
      tools: [],
    });
    expect(faultsOf(sampleWith(['tools: ["oa__*"]', 'tools: ["oa__*", "files__read_*"]']))).toEqual([]);
  });

  it.each([
    [
      'id: files, kind: mcp',
      'id: files, kind: mcp, url: "http://127.0.0.1:9/mcp"',
      /command.* is not a known key/,
    ],
    ['command: [npx,', 'command: [], env: [npx,', /connectors\[1\]/],
    [
      'requiresConfirmation: [write_file]',
      'requiresConfirmed: [write_file]',
      /did you mean requiresConfirmation/,
    ],
    ['requiresConfirmation: [write_file]', 'tools: [{ name: "*", timeout: 3d }]', /timeout .*at most 1h/],
    ['requiresConfirmation: [write_file]', 'headers: { a: b }', /headers is not a known key/],
  ])('refuses a server that is written wrongly: %s → %s', (before, after, fault) => {
    const place = sampleText.indexOf('  - { id: files');
    const text = sampleText.slice(0, place) + sampleText.slice(place).replace(before, after);
    expect(faultsOf(text).join('\n')).toMatch(fault);
  });

  it('reaches a server over HTTP where it has a url', () => {
    const text = sampleWith([
      'command: [npx, -y, "@modelcontextprotocol/server-filesystem", /srv/files]',
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the configuration's own placeholder.
      'url: "https://tools.acme.example/mcp", headers: { authorization: "Bearer ${OA_TOKEN}" }',
    ]);
    expect(loaded(text).config.connectors[1]).toMatchObject({
      server: {
        transport: 'http',
        url: 'https://tools.acme.example/mcp',
        headers: { authorization: 'Bearer oa-token' },
      },
    });
  });

  it('keeps its revision when a secret changes, and changes it when a rule does', () => {
    const rotated = Object.fromEntries(
      Object.entries(sampleEnvironment).map(([name, value]) => [
        name,
        name === 'MODEL' || name === 'OPENAI_BASE_URL' ? value : `${value}-rotated`,
      ]),
    );
    expect(loaded(sampleText, rotated).config.revision).toBe(config.revision);
    expect(config.revision).toMatch(/^sha256:[0-9a-f]{64}$/);
    for (const change of [
      ['quorum: 2', 'quorum: 1'],
      ['"50000"', '"50001"'],
      ['name: 王芳', 'name: 王方'],
      ['chat: oc_finance', 'chat: oc_other'],
    ] as const)
      expect(loaded(sampleWith(change)).config.revision).not.toBe(config.revision);
  });
});
