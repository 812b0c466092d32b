// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are references as a configuration writes them.
import { describe, expect, it } from 'vitest';
import { formatFault } from '../../src/config/config-fault.ts';
import { faultsOf, load, loaded, sampleEnvironment, sampleText, sampleWith } from './fixtures.ts';

type Change = readonly [string, string];

describe('a fault', () => {
  it.each<[string, Change, string]>([
    [
      'a misspelt key',
      ['quorum: 2', 'qorum: 2'],
      'policies[0].qorum is not a known key; did you mean quorum?',
    ],
    [
      'a misspelt section',
      ['externalTools:', 'externalTool:'],
      'externalTool is not a known key; did you mean externalTools?',
    ],
    [
      'a misspelt key of a channel',
      ['appSecret:', 'appSecrt:'],
      'channels[0].appSecrt is not a known key; did you mean appSecret?',
    ],
    [
      'a misspelt key of an identity',
      ['{ team: T0ACME, user: U0LIWEI }', '{ team: T0ACME, usr: U0LIWEI }'],
      'people[0].slack.usr is not a known key; did you mean user?',
    ],
    [
      'a platform nobody built',
      ['    slack: { team: T0ACME, user: U0LIWEI }', '    slak: { team: T0ACME, user: U0LIWEI }'],
      'people[0].slak is not a known key; did you mean slack?',
    ],
    [
      'a key of the card',
      ['currency: /currency, payee', 'curency: /currency, payee'],
      'connectors[0].tools[0].card.curency is not a known key; did you mean currency?',
    ],
    [
      'a key that is there twice',
      ['organization: acme', 'organization: acme\norganization: acme'],
      'organization is there twice',
    ],
    ['a key that is missing', ['organization: acme', ''], 'organization is required'],
    [
      'an unknown kind of channel',
      ['kind: slack', 'kind: slak'],
      'channels[1].kind is not a known kind of channel; did you mean slack?',
    ],
    [
      'a mode that is not built',
      ['mode: http ', 'mode: socket '],
      'channels[1].mode socket is not available in this version',
    ],
    [
      'the other mode that is not built',
      ['mode: webhook ', 'mode: long-connection '],
      'channels[0].mode long-connection is not available in this version',
    ],
    [
      'an unknown person',
      ['person:wang.fang', 'person:wang.fan'],
      'policies[0].approvers[1] names a person that is not there: wang.fan; did you mean wang.fang?',
    ],
    [
      'an unknown group',
      ['["group:finance", "person', '["group:finace", "person'],
      'policies[0].approvers[0] names a group that is not there: finace; did you mean finance?',
    ],
    [
      'an approver of no kind',
      ['"person:wang.fang"', '"wang.fang"'],
      'policies[0].approvers[1] has to read person:<id> or group:<name>',
    ],
    [
      'an unknown channel',
      ['[pay-feishu, pay-slack]', '[pay-feishu, pay-slak]'],
      'policies[0].channels[1] names a channel that is not there: pay-slak; did you mean pay-slack?',
    ],
    [
      'no channels',
      ['[pay-feishu, pay-slack]', '[]'],
      'policies[0].channels is empty: nobody would be asked; name a channel, or leave it out for all of them',
    ],
    [
      'an unknown model',
      ['model: main', 'model: mian'],
      'agents[0].model names a model that is not there: mian; did you mean main?',
    ],
    [
      'an unknown owner',
      ['owner: zhao.min', 'owner: zhao.mn'],
      'agents[0].owner names a person that is not there: zhao.mn; did you mean zhao.min?',
    ],
    [
      'an unknown delegate',
      ['delegates: []', 'delegates: [helper]'],
      'agents[0].delegates[0] names an agent that is not there: helper',
    ],
    [
      'an unknown hook',
      ['class_hooks: []', 'class_hooks: [result-trunkate]'],
      'agents[0].hooks.class_hooks[0] names a hook that nobody has: result-trunkate; did you mean result-truncate?',
    ],
    [
      'a hook that reads like none',
      ['class_hooks: []', 'class_hooks: [payee-block]'],
      'agents[0].hooks.class_hooks[0] names a hook that nobody has: payee-block',
    ],
    [
      'an unknown option of a hook',
      ['class_hooks: []', 'class_hooks: [{result-truncate: {limt: 5}}]'],
      'agents[0].hooks.class_hooks[0].result-truncate.limt is not a known key; did you mean limit?',
    ],
    [
      'a wrong option of a hook',
      ['class_hooks: []', 'class_hooks: [{result-truncate: {limit: many}}]'],
      'agents[0].hooks.class_hooks[0].result-truncate.limit has to be a number',
    ],
    [
      'a hook that is there twice',
      ['class_hooks: []', 'class_hooks: [result-truncate, result-truncate]'],
      'agents[0].hooks.class_hooks[1] is there already as agents[0].hooks.class_hooks[0]',
    ],
    [
      'an unknown requester',
      ['requesters: ["*"]', 'requesters: [zhao.mi]'],
      'apiKeys[0].requesters[0] names a person that is not there: zhao.mi; did you mean zhao.min?',
    ],
    [
      'a pattern for no tool',
      ['"oa__purchase_pay", "bank', '"oa__purchase_py", "bank'],
      "policies[0].tools[0] matches neither a connector's tool nor externalTools: oa__purchase_py; did you mean oa__purchase_pay?",
    ],
    [
      'a pattern of an agent for no tool',
      ['tools: ["oa__*"]', 'tools: ["oa__*", "crm__*"]'],
      "agents[0].tools[1] matches neither a connector's tool nor externalTools: crm__*",
    ],
    [
      'a quorum nobody could meet',
      ['quorum: 2', 'quorum: 3'],
      'policies[0].quorum is 3, and only 2 active people could meet it: lower it, or name more approvers',
    ],
    ['no quorum', ['quorum: 2', 'quorum: 0'], 'policies[0].quorum has to be at least 1'],
    ['half a quorum', ['quorum: 2', 'quorum: 1.5'], 'policies[0].quorum has to be a whole number'],
    [
      'a condition that does not parse',
      ['> money("50000", "CNY")', '>'],
      'policies[0].when is not a condition: Unexpected token: EOF. (at character 36)',
    ],
    [
      'a condition that is not boolean',
      ['\'money(args.amount, args.currency) > money("50000", "CNY")\'', 'tool'],
      'policies[0].when is not a condition: A condition has to be true or false, this one is a string. (at character 1)',
    ],
    [
      'a policy called like the default',
      ['id: large-payment', 'id: default'],
      'policies[0].id is the name of defaultPolicy: choose another',
    ],
    [
      'a deadline after which cards die',
      ['decideWithin: 2h', 'decideWithin: 14d'],
      'policies[0].decideWithin has to be at most 13d',
    ],
    [
      'a duration without a unit',
      ['decideWithin: 2h', 'decideWithin: "2"'],
      'policies[0].decideWithin has to be a duration like 90s, 15m, 2h or 3d',
    ],
    [
      'a duration that is a number',
      ['decideWithin: 2h', 'decideWithin: 2'],
      'policies[0].decideWithin has to be text (in quotes, where it reads like a number)',
    ],
    [
      'no duration at all',
      ['executeWithin: 10m', 'executeWithin: 0s'],
      'policies[0].executeWithin has to be more than nothing',
    ],
    [
      'a negative duration',
      ['executeWithin: 10m', 'executeWithin: -10m'],
      'policies[0].executeWithin has to be a duration like 90s, 15m, 2h or 3d',
    ],
    ['a port that is none', ['port: 8787', 'port: 65536'], 'listen.port has to be at most 65535'],
    ['a port that is negative', ['port: 8787', 'port: -1'], 'listen.port has to be at least 0'],
    ['an unknown locale', ['locale: zh-CN', 'locale: de-DE'], 'locale has to be zh-CN or en-US'],
    [
      'an unknown time zone',
      ['Asia/Shanghai', 'Asia/Shangai'],
      'timeZone has to be a time zone of the IANA database, like Asia/Shanghai',
    ],
    [
      'an offset as time zone',
      ['Asia/Shanghai', '"+08:00"'],
      'timeZone has to be a time zone of the IANA database, like Asia/Shanghai',
    ],
    [
      'a public address with a query',
      ['https://gate.acme.example', 'https://gate.acme.example/?a=b'],
      'publicUrl has to be an http:// or https:// address without credentials, query and fragment',
    ],
    [
      'a proxy that is the whole internet',
      ['timeZone: Asia/Shanghai', 'timeZone: Asia/Shanghai\ntrustProxy: [0.0.0.0/0]'],
      'trustProxy[0] has to be an IP address, or a network like 10.0.0.0/8 that is not the whole internet',
    ],
    [
      'an operations port that is taken',
      ['timeZone: Asia/Shanghai', 'timeZone: Asia/Shanghai\noperations: {port: 8787}'],
      'operations.port is the port of listen already',
    ],
    [
      'a migration database without a database',
      ['timeZone: Asia/Shanghai', 'timeZone: Asia/Shanghai\nmigrationDatabase: postgres://h/d'],
      'migrationDatabase needs database: the embedded one has no other owner',
    ],
    [
      'a person who is there twice',
      ['id: wang.fang', 'id: li.wei'],
      'people[1].id is the id of people[0] already: choose another',
    ],
    [
      'a channel that is there twice',
      ['id: pay-slack', 'id: pay-feishu'],
      'channels[1].id is the id of channels[0] already: choose another',
    ],
    [
      'a key that is there twice',
      ['id: audit-desk', 'id: procurement'],
      'apiKeys[1].id is the id of apiKeys[0] already: choose another',
    ],
    [
      'an account of two people',
      ['user: U0WANG', 'user: U0LIWEI'],
      'people[1].slack is the same account as people[0].slack: give it to one of the two',
    ],
    [
      'one secret for two keys',
      ['${AUDIT_KEY}', '${PROCUREMENT_KEY}'],
      'apiKeys[1].key is the same secret as apiKeys[0].key',
    ],
    [
      'one secret for a key and a person',
      ['${LIWEI_KEY}', '${PROCUREMENT_KEY}'],
      'people[0].consoleKey is the same secret as apiKeys[0].key',
    ],
    [
      'parameters that are no schema',
      ['payee: {type: string}', 'payee: {type: strng}'],
      'connectors[0].tools[0].parameters is not a JSON Schema: schema is invalid: data/properties/payee/type must be equal to one of the allowed values, data/properties/payee/type must be array, data/properties/payee/type must match a schema in anyOf',
    ],
    [
      'parameters without names',
      ['{ type: object, required', '{ type: array, required'],
      'connectors[0].tools[0].parameters.type has to be object: arguments have names',
    ],
    [
      'parameters whose check would be a promise',
      ['{ type: object, required', '{ $async: true, type: object, required'],
      'connectors[0].tools[0].parameters.$async cannot be used here',
    ],
    [
      'a card field that is not described',
      ['amount: /amount', 'amount: /amout'],
      'connectors[0].tools[0].card.amount points to nothing that parameters describes: /amout',
    ],
    [
      'a card field that is no pointer',
      ['amount: /amount', 'amount: amount'],
      'connectors[0].tools[0].card.amount has to be a JSON Pointer like /amount',
    ],
    [
      'a connector whose name holds the separator',
      ['id: oa\n', 'id: o__a\n'],
      'connectors[0].id has to be 1 to 32 letters, digits, - and single _',
    ],
    [
      'a header of two lines',
      ['"Bearer ${OA_TOKEN}"', '"a\\r\\nb: c"'],
      'connectors[0].headers.authorization has to be one line that is not empty',
    ],
    [
      'a delegate nobody is',
      ['name: 李伟\n', 'name: 李伟\n    away: { delegate: zhao.mn }\n'],
      'people[0].away.delegate names a person that is not there: zhao.mn; did you mean zhao.min?',
    ],
    [
      'somebody who stands in for themselves',
      ['name: 李伟\n', 'name: 李伟\n    away: { delegate: li.wei }\n'],
      'people[0].away.delegate is the person who is away: name somebody else, or leave it out',
    ],
    [
      'an absence that ends before it begins',
      ['name: 李伟\n', 'name: 李伟\n    away: { from: 2026-12-02, until: 2026-12-01 }\n'],
      'people[0].away ends before it begins',
    ],
    [
      'a day that is not in the calendar',
      ['name: 李伟\n', 'name: 李伟\n    away: { from: 2026-02-30 }\n'],
      'people[0].away.from has to be a date like 2026-12-01, or a time like 2026-12-01T09:00',
    ],
    [
      'a reminder after the deadline',
      ['quorum: 2', 'quorum: 2\n    remindAfter: 2h'],
      'policies[0].remindAfter has to be shorter than decideWithin',
    ],
    [
      'an escalation after the deadline',
      ['quorum: 2', 'quorum: 2\n    escalateAfter: { after: 3h, to: ["person:zhao.min"] }'],
      'policies[0].escalateAfter.after has to be shorter than decideWithin',
    ],
    [
      'an escalation to nobody new',
      ['quorum: 2', 'quorum: 2\n    escalateAfter: { after: 1h, to: ["group:finance"] }'],
      'policies[0].escalateAfter.to adds nobody who is not an approver already: name others, or leave escalateAfter out',
    ],
    [
      'an escalation to a group nobody is in',
      ['quorum: 2', 'quorum: 2\n    escalateAfter: { after: 1h, to: ["group:financ"] }'],
      'policies[0].escalateAfter.to[0] names a group that is not there: financ; did you mean finance?',
    ],
    [
      'an excluded that does not parse',
      ['quorum: 2', "quorum: 2\n    excluded: 'args.'"],
      'policies[0].excluded does not say who: Expected IDENTIFIER, got EOF. (at character 6)',
    ],
    [
      'an excluded that is a truth',
      ['quorum: 2', "quorum: 2\n    excluded: 'tool == agent'"],
      'policies[0].excluded does not say who: It has to be the id of a person, or a list of them; this one is a bool. (at character 1)',
    ],
    [
      'an excluded list of numbers',
      ['quorum: 2', "quorum: 2\n    excluded: '[1, 2]'"],
      'policies[0].excluded does not say who: It has to be the id of a person, or a list of them; this one is a list<int>. (at character 1)',
    ],
    [
      'a floor whose people may not approve under a policy',
      [
        'externalTools:',
        'floor: { approvers: ["person:zhao.min", "person:wang.fang"], quorum: 2 }\nexternalTools:',
      ],
      "policies[0].quorum is 2 under the floor, and 1 of these people may approve under both: name more of the floor's approvers here, or more of these there",
    ],
    [
      'a floor that an agent could keep its calls from',
      [
        'externalTools:',
        `floor: { approvers: ["group:finance"], when: 'session != "sandbox"' }\nexternalTools:`,
      ],
      'floor.when reads metadata or session, by which an agent could keep its calls from the floor: ask about tool, args, agent and requester alone',
    ],
    [
      'a policy called like the floor',
      ['id: large-payment', 'id: floor'],
      'policies[0].id is the name of the floor: choose another',
    ],
    [
      'a key that is close to one there is',
      ['quorum: 2', 'quorum: 2\n    escalateTo: []'],
      'policies[0].escalateTo is not a known key; did you mean escalateAfter?',
    ],
    [
      'a text that reads like a number',
      ['tenant: 2f0acme\n', 'tenant: 20\n'],
      'channels[0].tenant has to be text (in quotes, where it reads like a number)',
    ],
  ])('%s', (_, change, fault) => {
    expect(faultsOf(sampleWith(change))).toContain(fault);
  });

  it.each<[string, string, string]>([
    ['fallbackAfter: 5m', 'fallbackAfter', 'needs fallback: the channels that are asked then'],
    [
      'channels: [pay-feishu]\n    fallback: [pay-slak]',
      'fallback[0]',
      'names a channel that is not there: pay-slak; did you mean pay-slack?',
    ],
    [
      'channels: [pay-feishu]\n    fallback: [pay-feishu]',
      'fallback[0]',
      "is asked in any case: pay-feishu is one of the policy's channels; take it out here or there",
    ],
    [
      'channels: [pay-feishu]\n    fallback: [pay-slack]\n    fallbackAfter: 15m',
      'fallbackAfter',
      'has to be shorter than deliveryTimeout',
    ],
  ])('is a fallback that cannot be one: %s', (keys, path, fault) => {
    const policy = keys.startsWith('channels') ? keys : `channels: [pay-feishu]\n    ${keys}`;
    expect(faultsOf(sampleWith(['channels: [pay-feishu, pay-slack]', policy]))).toContain(
      `policies[0].${path} ${fault}`,
    );
  });

  it('is asking people directly of whom too few could be written to; one of them is a warning', () => {
    const direct: Change = ['quorum: 2', 'quorum: 2\n    notify: direct'];
    const without: Change = [
      'slack: { team: T0ACME, user: U0WANG }, feishu: { tenant: 2f0acme, openId: ou_wang }',
      'consoleKey: 0123456789abcdef',
    ];
    expect(faultsOf(sampleWith(direct))).toEqual([]);
    expect(faultsOf(sampleWith(direct, without))).toEqual([
      'policies[0].notify is direct, and 1 people could be written to where 2 must approve: wang.fang has no account in these channels; add their accounts to people, or set group or both',
    ]);
    const { warnings } = loaded(sampleWith(['quorum: 2', 'quorum: 1\n    notify: direct'], without));
    expect(warnings.map(({ path, message }) => `${path} ${message}`)).toContain(
      'policies[0].notify is direct, and wang.fang has no account in these channels: nobody writes to them',
    );
  });

  it('is a flagged tool, or an agent that has everything confirmed, that nobody would be asked about', () => {
    const withoutDefault: Change = ['defaultPolicy:', '# defaultPolicy:'];
    expect(faultsOf(sampleWith(withoutDefault))).toEqual([
      'connectors[0].tools[0].requiresConfirmation needs a policy without `when` that covers the tool, or a defaultPolicy',
    ]);
    expect(
      faultsOf(sampleWith(withoutDefault, ['    when:', '    # when:'], ['ForAll: false', 'ForAll: true'])),
    ).toEqual(['agents[0].requireConfirmationForAll needs a defaultPolicy']);
    expect(faultsOf(sampleWith(withoutDefault, ['    when:', '    # when:']))).toEqual([]);
  });

  it('is a policy where no channel is configured', () => {
    const text =
      'organization: acme\nexternalTools: ["*"]\npeople: [{ id: li, name: Li, groups: [g], consoleKey: 0123456789abcdef }]\n';
    expect(faultsOf(`${text}policies: [{ id: p, tools: ["*"], approvers: ["group:g"] }]`)).toEqual([
      'policies[0] has nowhere to ask: no channel is configured; add one to channels',
    ]);
    expect(faultsOf(`${text}defaultPolicy: { approvers: ["group:g"] }`)).toEqual([]);
    expect(
      faultsOf(
        `${text}defaultPolicy: { approvers: ["group:g"] }\nagents: [{ id: a, requireConfirmationForAll: true }]`,
      ),
    ).toEqual(['defaultPolicy has nowhere to ask: no channel is configured; add one to channels']);
  });

  it('is a quorum that counts people who cannot vote, or who are not active', () => {
    expect(faultsOf(sampleWith(['name: 王芳,', 'name: 王芳, active: false,']))).toEqual([
      'policies[0].quorum is 2, and only 1 active person could meet it: lower it, or name more approvers',
    ]);
    expect(
      faultsOf(
        sampleWith([
          ', slack: { team: T0ACME, user: U0WANG }, feishu: { tenant: 2f0acme, openId: ou_wang }',
          '',
        ]),
      ),
    ).toEqual([
      'policies[0].quorum is 2, and only 1 active person could meet it; wang.fang can vote neither in these channels nor with a consoleKey: lower it, or name more approvers',
    ]);
  });

  it('is an environment variable that is not set, named', () => {
    const { OA_TOKEN: _, ...without } = sampleEnvironment;
    expect(faultsOf(sampleText, without)).toEqual([
      'connectors[0].headers.authorization needs the environment variable OA_TOKEN, which is not set',
    ]);
    expect(faultsOf(sampleText, { ...sampleEnvironment, OA_TOKEN: '' })).toEqual([
      'connectors[0].headers.authorization needs the environment variable OA_TOKEN, which is empty',
    ]);
  });

  it('is a secret that is empty', () => {
    for (const [name, path] of [
      ['FEISHU_APP_SECRET', 'channels[0].appSecret'],
      ['SLACK_SIGNING_SECRET', 'channels[1].signingSecret'],
      ['AUDIT_KEY', 'apiKeys[1].key'],
      ['OPENAI_API_KEY', 'models.main.apiKey'],
    ] as const)
      expect(faultsOf(sampleText, { ...sampleEnvironment, [name]: '' })).toEqual([
        `${path} is required, and the environment variable ${name} is empty`,
      ]);
    expect(faultsOf(sampleWith(['${SLACK_SIGNING_SECRET}', '""']))).toEqual([
      'channels[1].signingSecret is empty',
    ]);
  });
});

describe('all faults', () => {
  const text = sampleWith(
    ['port: 8787', 'port: 70000'],
    ['quorum: 2', 'quorum: 3'],
    ['person:wang.fang', 'person:nobody'],
    ['model: main', 'model: other'],
    ['kind: slack', 'kind: telegram'],
    ['amount: /amount', 'amount: /nothing'],
    ['class_hooks: []', 'class_hooks: [nothing]'],
  );

  it('are listed, in the order of the file, each with its line', () => {
    const result = load(text);
    if (result.kind === 'loaded') throw new Error('It loaded.');
    const lineWith = (passage: string) => text.split('\n').findIndex((line) => line.includes(passage)) + 1;
    expect(result.faults.map(({ path, line }) => [path, line])).toEqual([
      ['listen.port', lineWith('port: 70000')],
      ['channels[1].kind', lineWith('kind: telegram')],
      ['policies[0].approvers[1]', lineWith('person:nobody')],
      ['policies[0].quorum', lineWith('quorum: 3')],
      ['connectors[0].tools[0].card.amount', lineWith('amount: /nothing')],
      ['agents[0].model', lineWith('model: other')],
      ['agents[0].hooks.class_hooks[0]', lineWith('class_hooks: [nothing]')],
    ]);
    expect(formatFault('countersign.yaml', { path: 'a.b', line: 3, message: 'is wrong' })).toBe(
      'countersign.yaml:3: a.b is wrong',
    );
  });

  it('hold no secret, wherever one stands by mistake', () => {
    const secrets = Object.fromEntries(
      Object.keys(sampleEnvironment).map((name) => [name, `hidden-${name.toLowerCase()}-value`]),
    );
    const misplacedNames = sampleWith(
      ['"group:finance", "person', '"group:${OA_TOKEN}", "person:${OA_TOKEN}", "person'],
      ['[pay-feishu, pay-slack]', '["${FEISHU_APP_SECRET}"]'],
      ['owner: zhao.min', 'owner: "${OA_TOKEN}"'],
      ['kind: slack', 'kind: "${SLACK_BOT_TOKEN}"'],
      ['class_hooks: []', 'class_hooks: ["${OA_TOKEN}"]'],
      ["when: '", "when: '${OA_TOKEN} "],
      ['payee: {type: string}', 'payee: {type: "${OA_TOKEN}"}'],
      ['requesters: ["*"]', 'requesters: ["${OA_TOKEN}"]'],
      ['tools: ["oa__purchase_pay"', 'tools: ["${OA_TOKEN}"'],
    );
    const misplacedTexts = sampleWith(
      ['quorum: 2', 'quorum: "${SLACK_BOT_TOKEN}"'],
      ['"group:finance", "person', '"${SLACK_BOT_TOKEN}", "person'],
      ['database: ${DATABASE_URL:-}', 'database: "${OA_TOKEN}"'],
      ['locale: zh-CN', 'locale: "${OA_TOKEN}"'],
      ['path: /payments', 'path: "${OA_TOKEN}"'],
      ['timeout: 30s', 'timeout: "${OA_TOKEN}"'],
      ['mode: http ', 'mode: "${SLACK_BOT_TOKEN}"'],
    );
    const faults = [...faultsOf(misplacedNames, secrets), ...faultsOf(misplacedTexts, secrets)];
    expect(faults.length).toBeGreaterThan(15);
    expect(faults.join('\n')).not.toContain('hidden-');
  });
});

describe('a warning', () => {
  const warningsOf = (...changes: readonly Change[]): string[] =>
    loaded(sampleWith(...changes)).warnings.map(({ path, message }) => `${path} ${message}`);

  it('is a key that could be guessed', () => {
    expect(warningsOf(['"${AUDIT_KEY}"', 'short'])).toContain(
      'apiKeys[1].key is shorter than 16 characters and could be guessed',
    );
  });

  it('says that the owner of an agent leaves too few others', () => {
    expect(warningsOf(['owner: zhao.min', 'owner: li.wei'], ['requesters: ["*"]', 'requesters: []'])).toEqual(
      [
        'policies[0].quorum is 2, and only 1 could meet it where the agent procurement asks, whose owner is li.wei',
      ],
    );
    expect(warningsOf(['allowSelfApproval: false', 'allowSelfApproval: true'])).toEqual([]);
  });

  it('says that a quorum cannot be met while people are away, delegates counted', () => {
    const away = (delegate: string): Change => [
      'name: 李伟\n',
      `name: 李伟\n    away: { from: 2026-12-01, until: 2026-12-05${delegate} }\n`,
    ];
    const message =
      'policies[0].quorum is 2, and only 1 could meet it while people are away from 2026-11-30T16:00:00.000Z until 2026-12-04T16:00:00.000Z';
    expect(warningsOf(away(''))).toContain(message);
    expect(warningsOf(away(', delegate: wang.fang'))).toContain(message);
    expect(warningsOf(away(', delegate: zhao.min'))).not.toContain(message);
  });

  it('says that a policy can never decide because the agent could choose it', () => {
    const change: Change = [
      'policies: ',
      'policies:\n  - { id: gentle, tools: ["bank__*"], when: "metadata.small == true", approvers: ["group:finance"] }\n  - { id: all-bank, tools: ["bank__*"], approvers: ["group:finance"], reason: always }\n  # ',
    ];
    expect(warningsOf(change)).toContain(
      'policies[0].when reads what the agent sends, so it is passed over where all-bank matches, which is stricter: ask for at least as much as that one',
    );
  });

  it('says that an external pattern also names a tool of a connector', () => {
    expect(warningsOf(['externalTools: ["bank__*"]', 'externalTools: ["bank__*", "*_pay"]'])).toContain(
      'externalTools[1] also matches oa__purchase_pay, which a connector has; that one counts',
    );
  });
});
