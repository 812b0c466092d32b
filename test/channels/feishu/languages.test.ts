import { describe, expect, it } from 'vitest';
import { MAX_REQUEST_BYTES } from '../../../channels/feishu/limits.ts';
import { renderCard } from '../../../channels/feishu/render.ts';
import { inEveryLanguage } from '../../../channels/feishu/translate.ts';
import { cardOf } from '../../../src/confirmation/card-of.ts';
import type { ConfirmationRequest } from '../../../src/confirmation/confirmation-request.ts';
import type { JsonObject, JsonValue } from '../../../src/json.ts';
import { LOCALES, type Locale } from '../../../src/locale.ts';
import { checkCard } from '../../../src/standin/feishu/check-card.ts';
import { closedRequest, LI_WEI, pendingRequest, vote } from '../../confirmation/sample-request.ts';
import { APP } from './feishu-rig.ts';

const LANGUAGES = { 'zh-CN': 'zh_cn', 'en-US': 'en_us' } as const;

function drawn(request: ConfirmationRequest, locale: Locale) {
  const publicUrl = 'https://gate.acme.example';
  const card = cardOf({ request, freeze: null, locale, timeZone: 'Asia/Shanghai', publicUrl });
  const { payload, decisiveShown } = renderCard({ card, token: 'tok_0123456789', chat: APP.chat });
  return { payload, decisiveShown, card: JSON.parse(payload) as JsonObject };
}

/** Every text of a card as a client of this language shows it, in reading order. */
function textsIn(value: JsonValue | undefined, language: string): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => textsIn(item, language));
  if (typeof value !== 'object' || value === null) return [];
  if (value.tag === 'plain_text') {
    const translations = value.i18n_content as Record<string, string> | undefined;
    return [translations?.[language] ?? String(value.content)];
  }
  return Object.values(value).flatMap((child) => textsIn(child, language));
}

const REQUESTS = {
  pending: pendingRequest({ requesterNamedByAgent: true, session: 'chat-77' }),
  rejected: closedRequest(
    { status: 'rejected', by: LI_WEI, reason: '金额与合同不符' },
    { votes: [vote(LI_WEI, 'reject', '金额与合同不符')] },
  ),
};

describe('a Feishu card in both languages', () => {
  it.each(Object.entries(REQUESTS))('reads in each as a card of that language alone: %s', (_, request) => {
    const [chinese, english] = [drawn(request, 'zh-CN').card, drawn(request, 'en-US').card];
    for (const locale of LOCALES) {
      const language = LANGUAGES[locale];
      expect(textsIn(chinese, language)).toEqual(textsIn(english, language));
    }
    expect(textsIn(chinese, 'zh_cn')).toContain('金额：68000.00');
    expect(textsIn(chinese, 'en_us')).toContain('Amount: 68000.00');
    expect(textsIn(chinese, 'en_us').join('\n')).not.toMatch(/批准|拒绝|审批|截止|核对|理由/);
  });

  it.each(LOCALES)('shows a client of a third language the words of the chat, %s', (locale) => {
    const { card } = drawn(REQUESTS.pending, locale);
    expect(textsIn(card, 'ja_jp')).toEqual(textsIn(card, LANGUAGES[locale]));
  });

  it('carries what reads the same once, so that no value of the agent stands there twice', () => {
    const memo = '甲'.repeat(400);
    const args = { amount: '68000.00', currency: 'CNY', payee: 'Acme', memo };
    const { payload } = drawn(pendingRequest({ args, summary: 'words of the agent' }), 'zh-CN');
    expect(payload.split(memo)).toHaveLength(2);
    expect(payload.split('words of the agent')).toHaveLength(2);
  });

  it('is one that the platform takes', () => {
    for (const request of Object.values(REQUESTS))
      for (const locale of LOCALES) expect(checkCard(drawn(request, locale).payload).kind).toBe('card');
  });

  it('gives up the further language before anything of the card', () => {
    const payee = '收'.repeat(4_000);
    const args = { amount: '68000.00', currency: 'CNY', payee, memo: 'PO 1187' };
    const { payload, decisiveShown, card } = drawn(pendingRequest({ args }), 'zh-CN');
    expect(decisiveShown).toBe(true);
    expect(payload.includes('i18n_content')).toBe(false);
    expect(textsIn(card, 'zh_cn').includes(`收款方：${payee}`)).toBe(true);
    expect(textsIn(card, 'zh_cn')).toContain('memo: PO 1187');
  });

  it.each([10, 500, 1_000, 2_000, 5_000, 9_000])(
    'keeps to the limit with %d characters of payee',
    (length) => {
      for (const character of ['a', '"', '收', '💸']) {
        const args = { amount: '1', currency: 'CNY', payee: character.repeat(length), memo: 'x'.repeat(400) };
        const { payload } = drawn(pendingRequest({ args, summary: '"'.repeat(900) }), 'en-US');
        const body = {
          receive_id: APP.chat,
          msg_type: 'interactive',
          content: payload,
          uuid: 'x'.repeat(36),
        };
        expect(Buffer.byteLength(JSON.stringify(body))).toBeLessThanOrEqual(MAX_REQUEST_BYTES);
        expect(checkCard(payload).kind).toBe('card');
      }
    },
  );
});

describe('drawings in several languages', () => {
  const text = (content: string): JsonObject => ({ tag: 'plain_text', content });
  const both = (own: JsonObject, other: JsonObject) =>
    inEveryLanguage({ locale: 'zh-CN', drawn: own }, [{ locale: 'en-US', drawn: other }]);

  it('become one, with each language where the words differ', () => {
    const own = { elements: [text('金额：1'), text('1')], version: 3 };
    expect(both(own, { elements: [text('Amount: 1'), text('1')], version: 3 })).toEqual({
      elements: [{ ...text('金额：1'), i18n_content: { zh_cn: '金额：1', en_us: 'Amount: 1' } }, text('1')],
      version: 3,
    });
  });

  it.each([
    ['a text more', { elements: [text('a'), text('b')] }],
    ['a text less', { elements: [] }],
    ['another element', { elements: [{ tag: 'hr' }] }],
    ['another value', { elements: [text('a')], template: 'red' }],
    ['no text at all', { elements: [{ tag: 'plain_text', content: 7 }] }],
  ])('stay apart where they differ in more than words: %s', (_, other) => {
    expect(both({ elements: [text('a')] }, other)).toBeNull();
  });
});
