import { NOTICES, REFUSALS } from '../confirmation/notices.ts';
import { REVOKE_NOTICES } from '../confirmation/revoke-notices.ts';
import { SETTLE_REFUSALS } from '../confirmation/unknown-texts.ts';
import { pageLocale } from '../console/page-locale.ts';
import type { ErrorCode } from '../errors.ts';
import type { Locale } from '../locale.ts';

const chinese = ({ text }: { readonly text: Readonly<Record<Locale, string>> }): string => text['zh-CN'];

/** By code, for people alone: programs go by the code, and agents are told in the language of their models. */
const IN_CHINESE: Readonly<Partial<Record<ErrorCode, string>>> = {
  not_an_approver: chinese(REFUSALS.not_an_approver),
  self_approval: chinese(REFUSALS.self_approval),
  excluded: chinese(REFUSALS.excluded),
  seat_taken: chinese(REFUSALS.seat_taken),
  inactive_person: chinese(REFUSALS.inactive_person),
  args_changed: chinese(REFUSALS.args_changed),
  reason_required: chinese(NOTICES.reasonMissing),
  already_decided: '这次请求已有决定（见 decision），你的操作没有生效。',
  expired: '这次请求已过期（见 decision），你的操作没有生效。',
  not_approved: chinese(REVOKE_NOTICES.notApproved),
  already_claimed: chinese(REVOKE_NOTICES.tooLate),
  lapsed: chinese(REVOKE_NOTICES.lapsed),
  not_unknown: '这次请求没有结果不明的执行，未作任何更改。',
  not_yet_settleable: '原来的调用仍可能发出，请在 retryAfter 秒之后再登记。',
  not_repeatable: chinese(SETTLE_REFUSALS.not_repeatable),
  policy_error: chinese(SETTLE_REFUSALS.policy_error),
  undeliverable: chinese(SETTLE_REFUSALS.undeliverable),
  superseded: '已有新的请求取代它，未作任何更改。',
  not_found: '没有这个编号，或者你无权查看；未作任何更改。',
};

/** Before the sentence that says which field, or which people may. */
const CHINESE_BEFORE: Readonly<Partial<Record<ErrorCode, string>>> = {
  forbidden: '你没有做这件事的权限，未作任何更改。',
  invalid_request: '请求的内容不符合接口的要求，未作任何更改。',
};

/** What a person who asks for Chinese is told; null where the English sentence stays. */
export function chineseRefusal(
  { code, detail }: { readonly code: ErrorCode; readonly detail: string },
  acceptLanguage: string | undefined,
): string | null {
  const locale = pageLocale({ asked: undefined, acceptLanguage, fallback: 'en-US' });
  if (locale !== 'zh-CN') return null;
  const before = CHINESE_BEFORE[code];
  return before === undefined ? (IN_CHINESE[code] ?? null) : `${before}${detail}`;
}
