import { z } from 'zod';
import { SETTLE_ACTIONS } from '../channel/inbound-event.ts';
import type { ConfirmationService } from '../confirmation/confirmation-service.ts';
import { LONGEST_DETAIL } from '../confirmation/outcome.ts';
import { settleNoticeOf } from '../confirmation/settle-notices.ts';
import { SETTLE_REFUSALS } from '../confirmation/unknown-texts.ts';
import type { PersonPrincipal } from '../http/principal.ts';
import type { ConfirmationId } from '../ids.ts';
import type { Locale } from '../locale.ts';
import { CONSOLE_TEXTS } from './console-texts.ts';

export type SettledOnPage =
  | { readonly kind: 'settled' }
  /** Why not, for the person, on the page as it is now. */
  | { readonly kind: 'refused'; readonly status: 403 | 409 | 422; readonly message: string };

const settleStatus = z.enum(SETTLE_ACTIONS);

/** Somebody signed in sent the form. The core alone says whether their word counts, as on every other surface. */
export async function settleOnPage(
  form: URLSearchParams,
  by: { readonly id: ConfirmationId; readonly viewer: PersonPrincipal },
  {
    confirmations,
    locale,
    timeZone,
  }: {
    readonly confirmations: Pick<ConfirmationService, 'settle'>;
    readonly locale: Locale;
    readonly timeZone: string;
  },
): Promise<SettledOnPage> {
  const refuse = (status: 403 | 409 | 422, message: string): SettledOnPage => {
    return { kind: 'refused', status, message };
  };
  const status = settleStatus.safeParse(form.get('status'));
  if (!status.success) return refuse(422, CONSOLE_TEXTS[locale].otherOrigin);
  // Forms send each line end as two characters, of which the browser counted one.
  const detail = (form.get('detail') ?? '').replaceAll('\r\n', '\n');
  if (detail.length > LONGEST_DETAIL) return refuse(422, CONSOLE_TEXTS[locale].tooLong(LONGEST_DETAIL));
  const person = by.viewer.person.id;
  const surface = { kind: 'api' } as const;
  const outcome = await confirmations.settle({ id: by.id, person, status: status.data, detail, surface });
  if (outcome.kind === 'settled') return { kind: 'settled' };
  if (outcome.kind === 'detail-required') return refuse(422, SETTLE_REFUSALS.detail_missing.text[locale]);
  const notice = settleNoticeOf(outcome, { status: status.data, person, timeZone });
  const late = outcome.kind === 'refused' && LATE.has(outcome.code);
  return refuse(outcome.kind === 'refused' && !late ? 403 : 409, notice.text[locale]);
}

/** What the state of the request refuses, and not the person's rights. */
const LATE: ReadonlySet<string> = new Set([
  'not_unknown',
  'superseded',
  'not_yet_settleable',
  'not_repeatable',
  'policy_error',
]);
