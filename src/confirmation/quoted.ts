import { cutText } from '../channel/cut-text.ts';
import { visibleText } from '../channel/visible-text.ts';
import type { CardTexts } from './card-texts.ts';
import { maskSecrets } from './secret-shapes.ts';

/** In UTF-16 units: reasons are bounded where they come in, details of an execution here. */
const LONGEST_DETAIL = 500;

/** Other people's words, marked as such; what is cut is said. */
export function quoted(text: string, texts: Pick<CardTexts, 'cut'>, longest = LONGEST_DETAIL): string {
  const visible = visibleText(maskSecrets(text)).text;
  const cut = cutText(visible, longest);
  return cut.missing === 0 ? `“${visible}”` : `“${cut.text}”${texts.cut(cut.missing)}`;
}
