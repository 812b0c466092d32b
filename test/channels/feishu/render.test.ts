import { describe, expect, it } from 'vitest';
import { renderCard } from '../../../channels/feishu/render.ts';
import type { Card, CardState } from '../../../src/channel/card.ts';
import type { JsonObject, JsonValue } from '../../../src/json.ts';
import { buttonsOf } from '../../../src/standin/feishu/card-buttons.ts';
import { checkCard } from '../../../src/standin/feishu/check-card.ts';
import { REASON_MODES } from '../../../src/verdict.ts';
import { closedCard, decideActions, sampleCard } from '../sample-card.ts';
import { APP, textsOf } from './feishu-rig.ts';

const TOKEN = 'tok_0123456789abcdef';

function draw(card: Card) {
  const rendered = renderCard({ card, token: TOKEN, chat: APP.chat });
  const drawn: JsonObject = JSON.parse(rendered.payload);
  return { ...rendered, drawn, texts: textsOf(drawn), buttons: buttonsOf(drawn) };
}

const requestBytes = (payload: string) =>
  Buffer.byteLength(
    JSON.stringify({
      receive_id: APP.chat,
      msg_type: 'interactive',
      content: payload,
      uuid: '0198a1b2-0000-7000-8000-000000000000',
    }),
  );

const fact = (value: string) => ({ label: '自述', value });
const line = (value: string, decisive: boolean, label = 'memo') => ({ label, value, decisive });

describe('a card of Feishu', () => {
  it('is one the platform takes, under every reason mode and in every state', () => {
    const states: readonly CardState[] = [
      'pending',
      'approved',
      'executing',
      'succeeded',
      'failed',
      'unknown',
      'lapsed',
      'revoked',
      'rejected',
      'expired',
      'cancelled',
      'undeliverable',
    ];
    for (const mode of REASON_MODES)
      expect(checkCard(draw(sampleCard({ actions: decideActions(mode) })).payload).kind).toBe('card');
    for (const state of states)
      expect(checkCard(draw({ ...closedCard(sampleCard()), state }).payload).kind).toBe('card');
  });

  it('puts decisive lines first and large, then the tool and further arguments', () => {
    const { drawn, texts } = draw(sampleCard());
    expect(texts.slice(2, 7)).toEqual([
      'amount：68000.00',
      'currency：CNY',
      'payee：上海示例科技有限公司',
      '工具：oa__purchase_pay',
      'memo: 十一月的服务器采购',
    ]);
    expect(sizesOf(drawn).slice(0, 4)).toEqual(['heading-2', 'heading-2', 'heading-2', undefined]);
  });

  it('puts what became of it first once it is closed, and nothing large that could still be decided', () => {
    const { drawn, texts } = draw(closedCard(sampleCard()));
    expect(texts[2]).toBe('执行：已成功');
    expect(sizesOf(drawn)).not.toContain('heading-2');
    expect(sizesOf(drawn)[0]).toBe('heading-4');
  });

  it('leads to the request that was rejected before, in both languages', () => {
    const link = (label: string) => ({ followedLink: { label, url: 'https://gate.example/requests/0198' } });
    const chinese = sampleCard(link('查看此前被拒的请求'));
    const english = { ...chinese, locale: 'en-US', ...link('The rejected request') } as const;
    const { payload, drawn } = draw({ ...chinese, translations: [english] });
    expect(checkCard(payload).kind).toBe('card');
    const button = JSON.stringify(drawn.body)
      .match(/\{"tag":"button","type":"text".*?\}\]\}/g)
      ?.at(-1);
    expect(JSON.parse(button ?? '{}')).toMatchObject({
      text: { i18n_content: { zh_cn: '查看此前被拒的请求', en_us: 'The rejected request' } },
      behaviors: [{ type: 'open_url', default_url: 'https://gate.example/requests/0198' }],
    });
  });

  it('has a colour for every state that asks, was done or failed, and another while it is frozen', () => {
    const colour = (changes: Partial<Card>) =>
      (draw(sampleCard(changes)).drawn.header as JsonObject).template;
    const colours = (
      ['pending', 'approved', 'cooling-off', 'succeeded', 'failed', 'unknown', 'expired'] as const
    )
      .map((state) => colour({ state }))
      .concat(colour({ frozen: true }));
    expect(new Set(colours).size).toBe(colours.length);
  });

  it('speaks the language of its channel', () => {
    const english = draw(sampleCard({ locale: 'en-US', lines: [line('x'.repeat(40_000), true)] }));
    expect(english.texts.join('\n')).toContain('it cannot be approved here');
    const chinese = draw(sampleCard({ lines: [line('x'.repeat(40_000), true)] }));
    expect(chinese.texts.join('\n')).toContain('不能在这里批准');
  });

  it('cannot be forwarded and stays changeable', () => {
    expect(draw(sampleCard()).drawn.config).toMatchObject({
      update_multi: true,
      enable_forward: false,
      enable_forward_interaction: false,
    });
  });

  it('has no markdown anywhere', () => {
    const { drawn } = draw(sampleCard({ actions: decideActions('always') }));
    expect([...tagsIn(drawn)].filter((tag) => tag === 'markdown' || tag === 'lark_md')).toEqual([]);
  });

  it('links to the full request', () => {
    const { buttons } = draw(sampleCard());
    expect(buttons.filter(({ url }) => url !== null).map(({ url, text }) => [text, url])).toEqual([
      ['查看完整请求', 'https://gate.example/confirmations/0198'],
    ]);
  });
});

describe('the buttons', () => {
  it('under never are two, each with its request, the delivery’s token and the card’s version', () => {
    const card = sampleCard();
    expect(draw(card).buttons.flatMap(({ value, name }) => (value ? [{ value, name }] : []))).toEqual([
      { value: { action: 'approve', request: card.confirmationId, delivery: TOKEN, version: 1 }, name: null },
      { value: { action: 'reject', request: card.confirmationId, delivery: TOKEN, version: 1 }, name: null },
    ]);
  });

  it('under on-reject are a plain approve and a form that rejects', () => {
    const { buttons } = draw(sampleCard({ actions: decideActions('on-reject') }));
    expect(buttons.map(({ value, name, form }) => value?.action ?? name ?? form)).toEqual([
      'approve',
      `reject.${TOKEN}.v1`,
      null,
    ]);
    expect(buttons[1]?.form).toEqual({ inputs: ['reason'], required: [] });
  });

  it('under always are one form with both', () => {
    const { buttons } = draw(sampleCard({ actions: decideActions('always') }));
    expect(buttons.map(({ name }) => name)).toEqual([`approve.${TOKEN}.v1`, `reject.${TOKEN}.v1`, null]);
  });

  it.each(REASON_MODES)('under %s never approve what could not be shown', (mode) => {
    const { buttons, decisiveShown } = draw(
      sampleCard({ actions: decideActions(mode), lines: [line('9'.repeat(40_000), true, 'amount')] }),
    );
    expect(decisiveShown).toBe(false);
    expect(JSON.stringify(buttons)).not.toContain('approve');
    expect(JSON.stringify(buttons)).toContain('reject');
  });
});

describe('the limits', () => {
  it.each([
    ['plain text', 'a'],
    ['quotes, which count four times', '"'],
    ['backslashes', '\\'],
    ['Chinese', '审'],
    ['emoji', '💸'],
    ['control characters', '\u0001'],
  ])('hold for any amount of %s', (_name, character) => {
    for (const length of [10, 300, 2_000, 6_000, 10_000, 40_000, 200_000])
      for (const decisive of [true, false]) {
        const value = character.repeat(length);
        const card = sampleCard({ lines: [line(value, decisive)], summary: fact(value) });
        const { payload, decisiveShown, texts } = draw(card);
        expect(requestBytes(payload)).toBeLessThanOrEqual(30_000);
        expect(checkCard(payload).kind).toBe('card');
        if (!decisive) expect(decisiveShown).toBe(true);
        if (decisive) expect(texts.some((text) => text.includes(value))).toBe(decisiveShown);
      }
  });

  it('hold for a thousand lines, and the rest is counted', () => {
    const lines = Array.from({ length: 1_000 }, (_, index) =>
      line(`value ${index}`, false, `/items/${index}`),
    );
    const { payload, texts, decisiveShown } = draw(sampleCard({ lines }));
    expect(checkCard(payload).kind).toBe('card');
    expect(decisiveShown).toBe(true);
    expect(texts.join('\n')).toMatch(/还有 9\d\d 行，请查看完整请求/);
  });

  it.each([150, 1_000])('hold for %d decisive lines, which then cannot be approved', (length) => {
    const lines = Array.from({ length }, (_, index) => line(`value ${index}`, true, `/items/${index}`));
    const { payload, decisiveShown, buttons } = draw(sampleCard({ lines }));
    expect(checkCard(payload).kind).toBe('card');
    expect(decisiveShown).toBe(false);
    expect(buttons.filter(({ value }) => value?.action === 'approve')).toEqual([]);
  });

  it('hold when everything is long at once', () => {
    const long = '长"\\'.repeat(20_000);
    const facts = Array.from({ length: 20 }, () => ({ label: '事实', value: long }));
    const card = sampleCard({
      title: long,
      tool: long,
      warnings: Array.from({ length: 50 }, () => long),
      facts,
      outcome: facts,
      summary: fact(long),
      references: facts,
      lines: Array.from({ length: 50 }, (_, index) => line(long, index < 25, long)),
    });
    const { payload, decisiveShown } = draw(card);
    expect(requestBytes(payload)).toBeLessThanOrEqual(30_000);
    expect(checkCard(payload).kind).toBe('card');
    expect(decisiveShown).toBe(false);
  });

  it('leave every warning of the core its line, and say how many more there are', () => {
    const warnings = Array.from({ length: 14 }, (_, index) => `warning ${index}.`);
    const { texts } = draw(sampleCard({ warnings }));
    for (const warning of warnings.slice(0, 12)) expect(texts).toContain(warning);
    expect(texts).toContain('…（还有 2 行，请查看完整请求）');
  });

  it.each([
    ['an emoji of several characters', '👨\u200d👩\u200d👧', 5],
    ['a hidden character that was written out', '⟨U+202E⟩', 8],
  ])('are not cut inside %s', (_what, unit, length) => {
    for (let offset = 0; offset < length; offset += 1) {
      const label = 'a'.repeat(offset) + unit.repeat(100);
      const cut =
        draw(sampleCard({ lines: [line('x', false, label)] })).texts.find((text) =>
          text.startsWith('a'.repeat(offset) + unit),
        ) ?? '';
      const kept = cut.slice(offset).split('…')[0] ?? '';
      expect(kept.length).toBeGreaterThan(0);
      expect(kept.replaceAll(unit, '')).toBe('');
    }
  });

  it('cut between code points, and say how much is missing', () => {
    const { texts } = draw(sampleCard({ lines: [line('💸'.repeat(20_000), false)] }));
    const cut = texts.find((text) => text.includes('💸')) ?? '';
    expect(cut.isWellFormed()).toBe(true);
    const shown = [...cut].filter((character) => character === '💸').length;
    expect(cut).toContain(`还有 ${(20_000 - shown).toLocaleString('en-US')} 个字符，请查看完整请求`);
  });
});

const sizesOf = (drawn: JsonObject) =>
  (drawn.body as { elements: { text?: JsonObject }[] }).elements.map(({ text }) => text?.text_size);

function* tagsIn(value: JsonValue): Generator<JsonValue> {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value) && value.tag !== undefined) yield value.tag;
  for (const child of Object.values(value)) yield* tagsIn(child);
}
