import type { CardActions } from '../channel/card.ts';
import { SETTLE_ACTIONS } from '../channel/inbound-event.ts';
import { LONGEST_DETAIL } from '../confirmation/outcome.ts';
import type { Locale } from '../locale.ts';
import { type Html, html } from './html.ts';

/** The form in which somebody says what became of a call of unknown outcome: the words and buttons of the card. */
export function settleForm(
  { labels }: Extract<CardActions, { kind: 'settle' }>,
  { locale, path }: { readonly locale: Locale; readonly path: string },
): Html {
  return html`<form method="post" action="${path}/settlement?lang=${locale}">
<label for="detail">${labels.detail}</label>
<textarea id="detail" name="detail" rows="3" maxlength="${LONGEST_DETAIL}" required></textarea>
${SETTLE_ACTIONS.map(
  (status) =>
    labels[status] !== null && html`<button name="status" value="${status}">${labels[status]}</button> `,
)}
</form>`;
}
