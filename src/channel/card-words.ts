import type { Locale } from '../locale.ts';

/** The few words that say what a card leaves out, in the core and in each renderer; everything else comes with the card. */
export interface CardWords {
  /** Label of the tool, which decides as much as its arguments. */
  readonly tool: string;
  /** In the place of the approve button, where the card cannot show in full what decides. */
  readonly notApprovableHere: string;
  /** In the place of lines that found no room. */
  readonly moreLines: (count: number) => string;
  /** At the end of a text that was cut. */
  readonly moreCharacters: (count: number) => string;
  /** Finds that mark, with its count, at the end of a text that was cut before. */
  readonly cutBefore: RegExp;
}

export const CARD_WORDS: Readonly<Record<Locale, CardWords>> = {
  'zh-CN': {
    tool: '工具',
    notApprovableHere:
      '此卡片无法完整显示决定所需的内容，因此不能在这里批准。完整请求只供查看；要批准，请用本人的密钥调用接口。',
    moreLines: (count) => `…（还有 ${grouped(count)} 行，请查看完整请求）`,
    moreCharacters: (count) => `…（还有 ${grouped(count)} 个字符，请查看完整请求）`,
    cutBefore: /…（还有 ([\d,]{1,15}) 个字符，请查看完整请求）$/u,
  },
  'en-US': {
    tool: 'Tool',
    notApprovableHere:
      'This card cannot show in full what decides, so it cannot be approved here. The full request is for reading; approve over the API with your own key.',
    moreLines: (count) =>
      `… (${grouped(count)} more ${count === 1 ? 'line' : 'lines'}, see the full request)`,
    moreCharacters: (count) =>
      `… (${grouped(count)} more ${count === 1 ? 'character' : 'characters'}, see the full request)`,
    cutBefore: /… \(([\d,]{1,15}) more characters?, see the full request\)$/u,
  },
};

const grouped = (count: number): string => count.toLocaleString('en-US');
