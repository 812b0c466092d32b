import type { Locale } from '../locale.ts';
import type { ConfirmationRequest, PersonRef } from './confirmation-request.ts';
import { UNDELIVERABLE_TEXTS } from './undeliverable-texts.ts';

/** Why the service itself cancels a request or takes its grant back: what the record holds in place of words. */
export type OwnReason =
  /** The run was cancelled, failed, or came to a limit. */
  | 'run_ended'
  /** The gate was interrupted after it had stored the request. */
  | 'call_given_up'
  | 'tool_gone'
  /** The server of the tool could not say whether it is still what was approved. */
  | 'tool_unlisted'
  | 'not_repeatable';

/** True of whoever says it. */
const GIVEN_UP = 'call_given_up' satisfies OwnReason;

const OWN_REASONS: Readonly<Record<Locale, Readonly<Record<OwnReason, string>>>> = {
  'zh-CN': {
    run_ended: '发起请求的运行已提前结束（取消、失败或达到上限）',
    call_given_up: '发起方已放弃这次调用',
    tool_gone: '代理不再有这个工具',
    tool_unlisted: '工具所在的服务器没有应答',
    not_repeatable: '这次调用已不能重新执行',
  },
  'en-US': {
    run_ended: 'The run that asked ended early (cancelled, failed, or at a limit)',
    call_given_up: 'Who asked gave the call up',
    tool_gone: 'The agent has the tool no more',
    tool_unlisted: 'The server of the tool did not answer',
    not_repeatable: 'The call can no longer be run again',
  },
};

/**
 * What people read for a reason that is a code of ours; null where it is what somebody wrote. An agent outside may write
 * anything, also one of these words, so those that speak of a run count where there is one.
 */
export function ownReasonText(
  { status, runId }: Pick<ConfirmationRequest, 'status' | 'runId'>,
  { by, reason }: { readonly by: PersonRef | null; readonly reason: string | null },
  locale: Locale,
): string | null {
  if (by !== null || reason === null) return null;
  if (status === 'undeliverable') return UNDELIVERABLE_TEXTS[locale][reason] ?? null;
  if (runId === null && reason !== GIVEN_UP) return null;
  return new Map(Object.entries(OWN_REASONS[locale])).get(reason) ?? null;
}
