import { describe, expect, it } from 'vitest';
import { formatFault } from '../../src/config/config-fault.ts';
import { lintConfig } from '../../src/config/lint-config.ts';
import { channelKinds, hookKinds, sampleEnvironment, sampleText } from './fixtures.ts';

const BASE = `organization: acme
externalTools: ["bank__*"]
people:
  - { id: li, name: 李, groups: [finance], slack: { team: T0, user: U0LI } }
  - { id: wang, name: 王, groups: [finance], slack: { team: T0, user: U0WANG } }
  - { id: mute, name: 默, groups: [silent] }
channels:
  - { id: pay, kind: slack, botToken: t, signingSecret: s, team: T0, channel: C0, mode: http }
agents:
  - { id: buyer, owner: li }
connectors:
  - id: oa
    kind: http
    baseUrl: http://127.0.0.1:9
    tools:
      - { name: pay, path: /pay, requiresConfirmation: true }
      - { name: refund, path: /refund }
defaultPolicy: { approvers: ["group:finance"] }
`;

function linted(policies: string, base = BASE) {
  const text = `${base}${policies}`;
  const result = lintConfig({
    text,
    fileName: 'countersign.yaml',
    environment: sampleEnvironment,
    channelKinds,
    hookKinds,
  });
  if (result.kind === 'faulty') throw new Error(JSON.stringify(result.faults));
  return result.findings;
}
const findings = (policies: string, base?: string): string[] =>
  linted(policies, base).map(({ path, message }) => `${path} ${message}`);

const policies = (...entries: readonly string[]): string =>
  `policies:\n${entries.map((entry) => `  - { approvers: ["group:finance"], ${entry} }\n`).join('')}`;
const ALL_OA = 'id: all-oa, tools: ["oa__*"]';

describe('lint of policies', () => {
  it('finds nothing in the sample', () => {
    expect(findings('', sampleText)).toEqual([]);
  });

  it('says path, line and what to do', () => {
    const [finding] = linted(policies(ALL_OA, 'id: never, tools: ["bank__*"], when: "false"'));
    expect(finding && formatFault('countersign.yaml', finding)).toBe(
      'countersign.yaml:21: policies[1].when is false for every call, so this never decides: mend the condition, or take the policy out',
    );
  });

  it.each([
    ['a constant', '1 == 2'],
    ['a constant beside something else', "args.amount > 3 && 'a' == 'b'"],
    ['alternatives that are all false', "false || !(tool == 'oa__pay' || true)"],
    ['a tool that the policy does not cover', "tool == 'oa__pay'"],
    ['only tools that it does not cover', "tool in ['oa__pay', 'oa__refund'] && args.x == 1"],
    ['a requester who is nobody', "requester == 'zhao'"],
    ['two values of one thing', "args.currency == 'CNY' && args.x == 1 && args.currency == 'USD'"],
    [
      'bounds that leave nothing',
      "decimal(args.amount) > decimal('500') && decimal(args.amount) <= decimal('20')",
    ],
    [
      'an amount between two that cross',
      "money(args.a, 'CNY') > money('9', 'CNY') && money('3', 'CNY') > money(args.a, 'CNY')",
    ],
  ])('finds a condition that is false because of %s', (_, when) => {
    expect(findings(policies(ALL_OA, `id: bank, tools: ["bank__*"], when: ${JSON.stringify(when)}`))).toEqual(
      [expect.stringMatching(/^policies\[1\]\.when is false for every call/)],
    );
  });

  it.each([
    "tool == 'bank__pay'",
    "requester == 'li' || requester == ''",
    "args.currency == 'CNY' && args.payee == 'USD'",
    "decimal(args.amount) >= decimal('20') && decimal(args.amount) <= decimal('20')",
    'args.a > 1 || args.a < 0',
    "args.a == 'a' && args['b'] != 'a'",
  ])('finds nothing wrong with %s', (when) => {
    expect(findings(policies(ALL_OA, `id: bank, tools: ["bank__*"], when: ${JSON.stringify(when)}`))).toEqual(
      [],
    );
  });

  it('finds a rule behind one that always matches the same or more', () => {
    expect(findings(policies(ALL_OA, 'id: pay, tools: ["oa__pay"], when: "args.amount > 5"'))).toEqual([
      'policies[1] never decides: all-oa comes first and decides every call of these tools; move this policy before it, or take it out',
    ]);
    expect(findings(policies('id: pay, tools: ["oa__pay"], when: "args.amount > 5"', ALL_OA))).toEqual([]);
  });

  it('finds the pattern of a rule that others before it take, also where they do so together', () => {
    const found = findings(
      policies(
        'id: one, tools: ["oa__pay"]',
        'id: two, tools: ["oa__re*"]',
        'id: rest, tools: ["oa__*", "bank__*"]',
      ),
    );
    expect(found).toEqual([
      expect.stringMatching(/^policies\[2\]\.tools\[0\] never counts: one, two comes first/),
    ]);
  });

  it('finds the same condition on the same tools twice', () => {
    const when = 'when: "args.amount > 5"';
    expect(
      findings(policies(`id: a, tools: ["oa__*"], ${when}`, `id: b, tools: ["oa__pay"], ${when}`)),
    ).toEqual([expect.stringMatching(/^policies\[1\] never decides: a comes first/)]);
  });

  it('finds a flagged tool that no policy covers', () => {
    expect(findings(policies('id: bank, tools: ["bank__*"]'))).toEqual([
      'connectors[0].tools[0].requiresConfirmation is set, and no policy covers oa__pay: write one that says who approves it; until then the default decides',
    ]);
  });

  it('finds what a server’s connector has confirmed and nobody answers for', () => {
    const server = BASE.replace(
      /connectors:[\s\S]*/,
      'connectors:\n  - { id: files, kind: mcp, command: [x], requiresConfirmation: ["write_*"], tools: [{ name: move, requiresConfirmation: true }] }\n',
    );
    expect(findings(policies('id: bank, tools: ["bank__*"]'), server)).toEqual([
      expect.stringMatching(
        /^connectors\[0\]\.requiresConfirmation\[0\] asks .* no policy covers files__write_\*/,
      ),
      expect.stringMatching(
        /^connectors\[0\]\.tools\[0\]\.requiresConfirmation asks .* files__move, so such a call is denied/,
      ),
    ]);
    expect(findings(policies('id: bank, tools: ["bank__*", "files__*"]'), server)).toEqual([]);
    expect(findings('floor: { approvers: ["group:finance"] }\n', server)).toEqual([]);
    expect(findings('defaultPolicy: { approvers: ["group:finance"] }\n', server)).toEqual([]);
  });

  it('finds tools of an agent that has everything confirmed', () => {
    const base = BASE.replace('owner: li }', 'owner: li, requireConfirmationForAll: true }');
    expect(findings(policies('id: pay, tools: ["oa__pay"]'), base)).toEqual([
      expect.stringMatching(/^agents\[0\]\.requireConfirmationForAll is set, and no policy covers bank__\*/),
    ]);
  });

  it('finds a rule on the agent’s input that a stricter one always passes over', () => {
    const urgent = (more: string) =>
      `id: urgent, tools: ["bank__pay"], when: "has(metadata.urgent)", ${more}`;
    const strict = 'id: strict, tools: ["bank__*"], quorum: 2';
    expect(findings(policies(ALL_OA, urgent('quorum: 1'), strict))).toEqual([
      expect.stringMatching(/^policies\[1\] never decides: it reads what the agent sends, and strict/),
    ]);
    expect(findings(policies(ALL_OA, urgent('quorum: 2'), strict))).toEqual([]);
    const sometimes = `${strict}, when: "args.amount > 5"`;
    expect(findings(policies(ALL_OA, urgent('quorum: 1'), sometimes))).toEqual([]);
  });

  it('finds an approver, a delegate and people of an escalation whom nothing reaches', () => {
    const base = BASE.replace('user: U0LI } }', 'user: U0LI }, away: { delegate: mute } }');
    expect(
      findings(
        policies(ALL_OA, 'id: bank, tools: ["bank__*"], approvers: ["group:finance", "person:mute"]').replace(
          'approvers: ["group:finance"], id: bank',
          'id: bank',
        ),
      ),
    ).toEqual([expect.stringMatching(/^policies\[1\]\.approvers\[1\] names mute, who can vote neither/)]);
    expect(findings(policies(ALL_OA), base).join()).toContain(
      'people[0].away.delegate is mute, who can vote',
    );
    const escalated = 'decideWithin: 1h, escalateAfter: { after: 10m, to: ["group:silent"] }';
    expect(findings(policies(`${ALL_OA}, ${escalated}`))).toEqual([
      expect.stringMatching(/^policies\[0\]\.escalateAfter\.to adds mute, who can vote neither/),
    ]);
  });

  it('finds what the floor takes away', () => {
    const floor = 'floor: { tools: ["oa__*"], approvers: ["person:li"] }\n';
    const found = findings(`${floor}${policies(`${ALL_OA}, allowSelfApproval: true`)}`);
    expect(found).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^policies\[0\]\.approvers names wang, who may not approve under the floor/),
        expect.stringMatching(/^policies\[0\]\.allowSelfApproval is set, and the floor refuses it/),
      ]),
    );
  });
});
