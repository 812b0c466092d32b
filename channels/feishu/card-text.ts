import { cutText } from '../../src/channel/cut-text.ts';
import type { Locale } from '../../src/locale.ts';

/** The few words that only a Feishu card needs; everything else comes with the card. */
export interface CardText {
  readonly tool: string;
  readonly labelled: (label: string, value: string) => string;
  /** Takes the place of lines that found no room. */
  readonly moreLines: (count: number) => string;
  readonly notApprovableHere: string;
  /** `text`, or its first `maxCharacters` code points and a visible mark of how much is missing. */
  readonly cut: (text: string, maxCharacters: number) => string;
}

export const cardText: Readonly<Record<Locale, CardText>> = {
  'zh-CN': {
    tool: '工具',
    labelled: (label, value) => `${label}：${value}`,
    moreLines: (count) => `…… 另有 ${count} 项未在此显示，请打开完整请求查看`,
    notApprovableHere:
      '此卡片无法完整显示决定所需的内容，因此不能在这里批准。完整请求只供查看；要批准，请用本人的密钥调用接口。',
    cut: (text, max) => cutWith(text, max, (missing) => `……（还有 ${missing} 个字符未显示）`),
  },
  'en-US': {
    tool: 'Tool',
    labelled: (label, value) => `${label}: ${value}`,
    moreLines: (count) => `… and ${count} more not shown here; open the full request to see them`,
    notApprovableHere:
      'This card cannot show in full what decides, so it cannot be approved here. The full request is for reading; approve over the API with your own key.',
    cut: (text, max) => cutWith(text, max, (missing) => `… (${missing} more characters not shown)`),
  },
};

/** Counts code points, and cuts between characters: half an emoji or half of an escape would hide something again. */
function cutWith(text: string, maxCharacters: number, mark: (missing: number) => string): string {
  let characters = 0;
  let kept = text.length;
  for (let at = 0; at < text.length; at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1) {
    if (characters === maxCharacters) kept = at;
    characters += 1;
  }
  if (characters <= maxCharacters) return text;
  const head = cutText(text, kept).text;
  return head + mark(characters - [...head].length);
}
