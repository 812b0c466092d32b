import type { CardActions, CardFact } from '../channel/card.ts';
import { cutText } from '../channel/cut-text.ts';
import { visibleText } from '../channel/visible-text.ts';
import type { Locale } from '../locale.ts';
import type { ConfirmationRequest, Execution } from './confirmation-request.ts';
import { UNKNOWN_TEXTS } from './unknown-texts.ts';
import { zonedTime } from './zoned-time.ts';

/** In UTF-16 units; the page shows the whole of it. */
const LONGEST_REASON = 500;

/** What to check where nobody knows the outcome, from when it can be settled, and who asked to run it again. */
export function unknownFacts(
  request: ConfirmationRequest,
  { locale, timeZone }: { readonly locale: Locale; readonly timeZone: string },
): readonly CardFact[] {
  const execution = unknownOf(request);
  if (execution === null) return [];
  const texts = UNKNOWN_TEXTS[locale];
  const { labels } = texts;
  const { rerun, settleOpen, settleFrom } = execution;
  const facts: CardFact[] = [];
  if (rerun === null) {
    facts.push({
      label: labels.check,
      value: request.runId === null ? texts.check.ofAgent : texts.check.ofRun,
    });
  } else {
    facts.push(
      { label: labels.rerunBy, value: visibleText(rerun.by.name).text },
      {
        label: labels.rerunReason,
        value: `“${cutText(visibleText(rerun.reason).text, LONGEST_REASON).text}”`,
      },
    );
  }
  if (request.runId !== null && request.invocationId !== null)
    facts.push({ label: labels.key, value: request.invocationId });
  if (!settleOpen)
    facts.push({ label: labels.settleFrom, value: texts.settleFrom(zonedTime(settleFrom, timeZone)) });
  return facts;
}

/** Of which request this one takes the place, and which one took its place. */
export const predecessorFact = ({ supersedes }: ConfirmationRequest, locale: Locale): readonly CardFact[] =>
  supersedes === null ? [] : [{ label: UNKNOWN_TEXTS[locale].labels.supersedes, value: supersedes }];
export const successorFact = ({ supersededBy }: ConfirmationRequest, locale: Locale): readonly CardFact[] =>
  supersededBy === null ? [] : [{ label: UNKNOWN_TEXTS[locale].labels.supersededBy, value: supersededBy }];

/** What who decides about running a call again has to know first. */
export const rerunWarning = (request: ConfirmationRequest, locale: Locale): string | null =>
  request.supersedes === null || request.runId === null
    ? null
    : UNKNOWN_TEXTS[locale].rerunWarning(request.supersedes);

export const isRerunAsked = (request: ConfirmationRequest): boolean =>
  (unknownOf(request)?.rerun ?? null) !== null;

/** The buttons of an outcome that can be settled now; null where it cannot. */
export function settleActions(request: ConfirmationRequest, locale: Locale): CardActions | null {
  const execution = unknownOf(request);
  if (execution === null || !execution.settleOpen || execution.rerun !== null) return null;
  const { actions } = UNKNOWN_TEXTS[locale];
  const repeatable = request.runId !== null && request.toolIdempotent;
  return {
    kind: 'settle',
    labels: {
      succeeded: actions.succeeded,
      failed: actions.failed,
      run_again: repeatable ? actions.run_again : null,
      detail: repeatable ? actions.detailOrReason : actions.detail,
    },
  };
}

const unknownOf = (request: ConfirmationRequest): Extract<Execution, { status: 'unknown' }> | null =>
  request.status === 'approved' && request.execution.status === 'unknown' ? request.execution : null;
