import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { renderCard } from '../../../channels/slack/render.ts';
import { actionOf } from '../../../channels/slack/wire.ts';
import type { Card, CardLine } from '../../../src/channel/card.ts';
import { checkMessageBlocks } from '../../../src/standin/slack/check-blocks.ts';
import { slackCard, TOKEN } from './fixture.ts';

interface Payload {
  readonly text: string;
  readonly blocks: readonly Readonly<Record<string, unknown>>[];
}

const payloadOf = (card: Card): Payload => JSON.parse(renderCard(card, TOKEN).payload);
const plain = (value: unknown): string[] => {
  if (Array.isArray(value)) return value.flatMap(plain);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    key === 'text' && typeof inner === 'string' ? [inner] : plain(inner),
  );
};
const shown = (card: Card): string => plain(payloadOf(card).blocks).join('\n');
const actionIds = (card: Card): string[] =>
  payloadOf(card)
    .blocks.filter((block) => block.type === 'actions')
    .flatMap((block) => block.elements as { action_id: string }[])
    .map((element) => element.action_id);
const line = (value: string, decisive: boolean, label = '/memo'): CardLine => ({ label, value, decisive });

/** Every element that carries text, with the type Slack interprets it by. */
function textTypes(value: unknown, types = new Set<unknown>()): Set<unknown> {
  if (Array.isArray(value)) for (const one of value) textTypes(one, types);
  else if (typeof value === 'object' && value !== null) {
    if ('text' in value && typeof value.text === 'string') types.add('type' in value ? value.type : null);
    for (const inner of Object.values(value)) textTypes(inner, types);
  }
  return types;
}

const HOSTILE = [
  '<!channel> <!here> <@U0WANG> <#C0FINANCE> <https://evil.example|bank.example>',
  'a```\n*APPROVED BY CFO*\n```b `',
  ':white_check_mark: *bold* _it_ ~no~ > quote & &lt;!channel&gt;',
  '\u202e00.00086\u202c \u2066x\u2069 \u200b\ufeff\u{e0041}',
  'line one\r\nApproved by: 李伟\u2028amount: 1.00',
  'https://evil.example/login',
  '|a|b|\n|-|-|\n'.repeat(6),
];

describe('a card in Slack', () => {
  it('reads on a phone: state, what decides, facts, the rest, the buttons, the digest', () => {
    const { blocks } = payloadOf(slackCard());
    expect(blocks.map((block) => block.type)).toEqual([
      'header',
      'header',
      'header',
      'header',
      'section',
      'section',
      'section',
      'rich_text',
      'actions',
      'context',
    ]);
    expect(plain(blocks).slice(0, 5)).toEqual([
      '🟡 Approval needed: oa__purchase_pay',
      'amount: 68000.00',
      'currency: CNY',
      'payee: 华东设备有限公司',
      'Tool: oa__purchase_pay',
    ]);
  });

  it('carries the request, the token and the version in its buttons, and the link without either', () => {
    const buttons = payloadOf(slackCard()).blocks.at(-2)?.elements as Record<string, unknown>[];
    expect(
      buttons.map(({ action_id, value, url, style, confirm }) => [action_id, value, url, style, confirm]),
    ).toEqual([
      ['countersign.approve', `${slackCard().confirmationId}.${TOKEN}.v1`, undefined, 'primary', undefined],
      ['countersign.reject', `${slackCard().confirmationId}.${TOKEN}.v1`, undefined, 'danger', undefined],
      ['countersign.open', undefined, slackCard().link, undefined, undefined],
    ]);
  });

  it('leads to the request that was rejected before, by a button that decides nothing', () => {
    const followedLink = { label: 'The rejected request', url: 'http://127.0.0.1:8080/requests/0198' };
    const card = slackCard({ followedLink });
    const buttons = payloadOf(card).blocks.at(-2)?.elements as Record<string, unknown>[];
    expect(buttons.at(-1)).toMatchObject({ action_id: 'countersign.open_followed', url: followedLink.url });
    expect(buttons.at(-1)).not.toHaveProperty('value');
    expect(actionOf('countersign.open_followed')).toBeNull();
    expect(checkMessageBlocks(payloadOf(card).blocks)).toEqual({ ok: true });
    expect(actionIds({ ...card, actions: { kind: 'none' } })).toEqual([
      'countersign.open',
      'countersign.open_followed',
    ]);
  });

  it('shows what became of it and keeps only the link once it is closed', () => {
    const card = slackCard({
      state: 'rejected',
      title: 'Rejected: oa__purchase_pay',
      actions: { kind: 'none' },
      outcome: [
        { label: 'Rejected by', value: '李伟' },
        { label: 'Reason', value: 'Wrong account' },
      ],
    });
    expect(actionIds(card)).toEqual(['countersign.open']);
    expect(shown(card)).toContain('Rejected by: 李伟\nReason: Wrong account');
  });

  it('is the same for the same card and token', () => {
    expect(renderCard(slackCard(), TOKEN)).toEqual(renderCard(slackCard(), TOKEN));
  });

  it('escapes the notification text, which Slack would interpret', () => {
    expect(payloadOf(slackCard({ title: 'Pay <!channel> & <@U0WANG>' })).text).toBe(
      'Pay &lt;!channel&gt; &amp; &lt;@U0WANG&gt;',
    );
  });

  it.each(HOSTILE)('shows hostile text literally and passes Slack: %j', (text) => {
    const card = slackCard({
      title: text,
      summary: { label: text, value: text },
      references: [{ label: text, value: text }],
      tool: `bank__${text}`,
      warnings: [text],
      lines: [line(text, true, text), line(text, false, text)],
      facts: [{ label: text, value: text }],
      outcome: [{ label: text, value: text }],
      linkLabel: text,
    });
    const { blocks } = payloadOf(card);
    expect([...textTypes(blocks)].sort()).toEqual(['plain_text', 'text']);
    expect(
      blocks
        .filter((block) => 'text' in block)
        .every((block) => (block.text as { emoji: boolean }).emoji === false),
    ).toBe(true);
    expect(checkMessageBlocks(blocks)).toEqual({ ok: true });
    const firstWords = text.split(/[\r\n]/u)[0] ?? '';
    expect(shown(card)).toContain(firstWords);
  });

  it('never lets a line break in a value begin a line of its own', () => {
    const card = slackCard({ lines: [line('x\nApproved by: 李伟', false)] });
    expect(shown(card).split('\n')).not.toContain('Approved by: 李伟');
    expect(shown(card)).toContain('memo: x ⏎ Approved by: 李伟');
  });

  it('shows every decisive line in full or takes the approve button away', () => {
    const inFull = renderCard(slackCard({ lines: [line('收'.repeat(1400), true, 'payee')] }), TOKEN);
    expect(inFull.decisiveShown).toBe(true);
    expect(inFull.payload).toContain(`payee: ${'收'.repeat(1400)}`);
    for (const lines of [
      [line('x'.repeat(3001), true, 'payee')],
      [line('<'.repeat(1000), true, 'payee')],
      Array.from({ length: 40 }, (_, at) => line('x', true, `/items/${at}`)),
      Array.from({ length: 20 }, (_, at) => line('x'.repeat(400), true, `/items/${at}`)),
    ]) {
      const card = slackCard({ lines });
      expect(renderCard(card, TOKEN).decisiveShown).toBe(false);
      expect(actionIds(card)).toEqual(['countersign.reject', 'countersign.open']);
      expect(shown(card)).toContain('cannot be approved here');
      expect(checkMessageBlocks(payloadOf(card).blocks)).toEqual({ ok: true });
    }
  });

  it('has no approve button where the core says so, and leaves the reason to the core', () => {
    const actions = { ...slackCard().actions, approvable: false } as Card['actions'];
    const card = slackCard({ actions, warnings: ['参数中没有金额'], locale: 'zh-CN' });
    expect(actionIds(card)).toEqual(['countersign.reject', 'countersign.open']);
    expect(shown(card)).toContain('⚠️ 参数中没有金额');
    expect(shown(card)).not.toContain('不能在这里批准');
    expect(renderCard(card, TOKEN).decisiveShown).toBe(true);
  });

  it('takes 100 KB of arguments and 1,000 list items, and says what is missing', () => {
    const long = slackCard({ lines: [...slackCard().lines, line('x'.repeat(100_000), false, '/blob')] });
    expect(shown(long)).toMatch(/\/blob: x+… \(99,\d\d\d more characters, see the full request\)/);
    const many = slackCard({
      locale: 'zh-CN',
      lines: Array.from({ length: 1000 }, (_, at) => line('条目', false, `/items/${at}`)),
    });
    expect(shown(many)).toMatch(/…（还有 \d+ 行，请查看完整请求）/);
    for (const card of [long, many]) expect(checkMessageBlocks(payloadOf(card).blocks)).toEqual({ ok: true });
  });

  it.each([
    [20, 3000],
    [25, 200],
    [29, 140],
    [60, 200],
  ])('keeps its headline and every fact beside %d decisive lines of %d characters', (count, length) => {
    const lines = Array.from({ length: count }, (_, at) => line('付'.repeat(length), true, `field_${at}`));
    const warnings = ['隐藏字符'.repeat(400)];
    const card = slackCard({ locale: 'zh-CN', lines, warnings, title: '待审批（0/2）· bank__note' });
    expect(checkMessageBlocks(payloadOf(card).blocks)).toEqual({ ok: true });
    for (const words of [card.title, ...card.facts.map(({ value }) => value)])
      expect(shown(card)).toContain(words);
  });

  it('gives a long fact the whole width, and stays within Slack where all of them are long', () => {
    const long = { label: 'Rejected before', value: 'because the account is another one; '.repeat(4) };
    const one = slackCard({ facts: [long, ...slackCard().facts] });
    expect(shown(one)).toContain(`${long.label}: ${long.value.trim()}`);
    const lines = Array.from({ length: 60 }, (_, at) => line('x', true, `field_${at}`));
    const facts = Array.from({ length: 20 }, (_, at) => ({
      ...long,
      label: at % 5 === 0 ? 'long' : 'short',
    }));
    const mixed = facts.map((fact) => (fact.label === 'long' ? fact : { ...fact, value: 'x' }));
    for (const card of [slackCard({ lines, facts }), slackCard({ lines, facts: mixed })]) {
      expect(checkMessageBlocks(payloadOf(card).blocks)).toEqual({ ok: true });
    }
  });

  it('lets no long warning hide another', () => {
    const warnings = ['冻结'.repeat(900), 'masked: /apiKey', '隐藏'.repeat(900), 'named by the agent'];
    const text = shown(slackCard({ locale: 'zh-CN', warnings }));
    for (const warning of warnings) expect(text).toContain(warning.slice(0, 15));
    expect(text).toContain('个字符，请查看完整请求');
  });

  it('shows a short argument beside one of 100 KB', () => {
    const card = slackCard({
      lines: [line('x'.repeat(100_000), false, '/blob'), line('PO 7781', false, '/memo')],
    });
    expect(shown(card)).toContain('/memo: PO 7781');
  });

  it('stays within Slack for a card of 2,900 control characters, as they grow when escaped', () => {
    const card = slackCard({
      lines: [line('<&>'.repeat(967), false)],
      summary: { label: 'said', value: '&'.repeat(2900) },
    });
    expect(checkMessageBlocks(payloadOf(card).blocks)).toEqual({ ok: true });
  });

  it.each(['😀', '👨‍👩‍👧', '𠮷', '付', 'x'])('cuts between code points: %s', (unit) => {
    for (let shift = 0; shift < 4; shift += 1) {
      const text = 'y'.repeat(shift) + unit.repeat(4000);
      const card = slackCard({
        title: text,
        summary: { label: 'said', value: text },
        warnings: [text],
        lines: [line(text, true, 'payee'), line(text, false)],
        facts: [{ label: 'fact', value: text }],
        outcome: [{ label: 'reason', value: text }],
        linkLabel: text,
      });
      const { text: fallback, blocks } = payloadOf(card);
      expect([fallback, ...plain(blocks)].filter((one) => /\p{Surrogate}/u.test(one))).toEqual([]);
      expect(checkMessageBlocks(blocks)).toEqual({ ok: true });
    }
  });

  it('is always something Slack takes, whatever it is made of', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 300 }),
      fc.constantFrom(...HOSTILE),
      fc.constant(''),
    );
    const fact = fc.record({ label: text, value: text });
    const card = fc.record({
      title: text,
      tool: text,
      summary: fc.option(fact),
      warnings: fc.array(text, { maxLength: 5 }),
      lines: fc.array(fc.record({ label: text, value: text, decisive: fc.boolean() }), { maxLength: 60 }),
      facts: fc.array(fact, { maxLength: 30 }),
      references: fc.array(fact, { maxLength: 8 }),
      outcome: fc.array(fact, { maxLength: 8 }),
    });
    fc.assert(
      fc.property(card, (parts) => {
        const { blocks } = payloadOf(slackCard(parts));
        expect(checkMessageBlocks(blocks)).toEqual({ ok: true });
      }),
      { numRuns: 150 },
    );
  });
});
