import type { CardFact } from '../channel/card.ts';
import { visibleText } from '../channel/visible-text.ts';
import type { CardTexts } from './card-texts.ts';
import type { ConfirmationRequest } from './confirmation-request.ts';
import { quoted } from './quoted.ts';
import { zonedTime } from './zoned-time.ts';

/** How much of what was written then is told: all of it, its beginning, or only that it was rejected, by whom and when. */
export type FollowedWords = 'all' | 'beginning' | 'none';

/** In UTF-16 units; the rejected request shows it in full. */
const LONGEST_BEGINNING = 160;

/** People of another policy need not be allowed to read what was written to those who saw the rejected one. */
export const followedWordsOf = ({ follows }: Pick<ConfirmationRequest, 'follows'>): FollowedWords =>
  follows?.samePolicy ? 'beginning' : 'none';

/** That a person rejected such a call before, and why: whoever decides now should not have to find that out alone. */
export function followsFact(
  { follows }: Pick<ConfirmationRequest, 'follows'>,
  {
    texts,
    timeZone,
    words,
  }: { readonly texts: CardTexts; readonly timeZone: string; readonly words: FollowedWords },
): readonly CardFact[] {
  if (follows === null) return [];
  const { by, at, sameArguments, reason } = follows;
  const longest = words === 'all' ? Number.POSITIVE_INFINITY : LONGEST_BEGINNING;
  const parts = [
    visibleText(by.name).text,
    zonedTime(at, timeZone),
    // Of many payments in one run, the rejected one need not have been to the same payee.
    texts.rejectedCall[sameArguments ? 'same' : 'other'],
    ...(reason === null || words === 'none' ? [] : [quoted(reason, texts, longest)]),
  ];
  return [{ label: texts.facts.follows, value: parts.join(' · ') }];
}
