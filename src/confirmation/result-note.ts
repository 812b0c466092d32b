import type { QuietKind } from '../channel/reminder-outbox.ts';
import { visibleText } from '../channel/visible-text.ts';
import type { Locale } from '../locale.ts';
import { MASK_BY_SHAPE, maskArguments } from './argument-mask.ts';
import { callName } from './call-name.ts';
import { executionText } from './card-facts.ts';
import type { CardOfInput } from './card-of.ts';
import { CARD_TEXTS } from './card-texts.ts';
import type { Execution } from './confirmation-request.ts';

interface ResultTexts {
  readonly by: (name: string) => string;
  readonly note: (result: { readonly ended: string; readonly call: string; readonly code: string }) => string;
}

const MARKS: Readonly<Record<QuietKind, string>> = { succeeded: '✅', lapsed: '⌛', revoked: '🚫' };

const TEXTS: Readonly<Record<Locale, ResultTexts>> = {
  'zh-CN': {
    by: (name) => `（${name}）`,
    note: ({ ended, call, code }) => `${ended}。${call}，核对码 ${code}。`,
  },
  'en-US': {
    by: (name) => ` (${name})`,
    note: ({ ended, call, code }) => `${ended}. ${call}, verification code ${code}.`,
  },
};

/**
 * How an approval ended, in the card's own words, and which call it was of: `✅ Done at 2026-11-30 18:20 (UTC, UTC+0).
 * oa__purchase_pay 68,000.00 CNY, verification code 7F3K9QZD.` Null unless it ended so.
 */
export function resultNote(input: CardOfInput & { readonly kind: QuietKind }): string | null {
  const { request, locale, timeZone, kind, mask = MASK_BY_SHAPE } = input;
  if (request.status !== 'approved' || request.execution.status !== kind) return null;
  const { execution } = request;
  const texts = TEXTS[locale];
  const by = revokerOf(execution);
  const { tool, amount } = callName(request, maskArguments(request.args, request.decisiveFields, mask).args);
  return texts.note({
    ended: `${MARKS[kind]} ${executionText(execution, CARD_TEXTS[locale], timeZone)}${by === null ? '' : texts.by(by)}`,
    call: amount === null ? tool : `${tool} ${amount}`,
    code: request.verificationCode,
  });
}

const revokerOf = (execution: Execution): string | null =>
  execution.status === 'revoked' && execution.by !== null ? visibleText(execution.by.name).text : null;
