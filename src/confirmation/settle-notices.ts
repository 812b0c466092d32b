import { assertNever } from '../assert-never.ts';
import type { Notice } from '../channel/card.ts';
import { visibleText } from '../channel/visible-text.ts';
import type { PersonId } from '../ids.ts';
import type { ConfirmationRequest, PersonRef } from './confirmation-request.ts';
import type { Settlement, SettleOutcome } from './confirmation-service.ts';
import { NOTICES, REFUSALS } from './notices.ts';
import { SETTLE_REFUSALS, SETTLED_NOTICES } from './unknown-texts.ts';
import { zonedTime } from './zoned-time.ts';

/** Every outcome that is told as a sentence; a missing detail is asked for instead. */
export type ToldSettlement = Exclude<SettleOutcome, { readonly kind: 'detail-required' }>;

/** What became of a person's word on an unknown outcome, in a sentence for that person. */
export function settleNoticeOf(
  outcome: ToldSettlement,
  said: { readonly status: Settlement; readonly person: PersonId; readonly timeZone: string },
): Notice {
  switch (outcome.kind) {
    case 'settled':
      return SETTLED_NOTICES[said.status];
    case 'undeliverable':
      return SETTLE_REFUSALS.undeliverable;
    case 'not-found':
      return NOTICES.mismatch;
    case 'refused':
      return refusalOf(outcome, said);
    default:
      return assertNever(outcome);
  }
}

function refusalOf(
  { code, request }: Extract<SettleOutcome, { kind: 'refused' }>,
  said: { readonly person: PersonId; readonly timeZone: string },
): Notice {
  switch (code) {
    case 'not_repeatable':
    case 'policy_error':
      return SETTLE_REFUSALS[code];
    case 'not_yet_settleable':
      return notYet(request, said.timeZone);
    case 'superseded':
    case 'not_unknown':
      return settledBefore(request, said);
    default:
      return REFUSALS[code];
  }
}

function notYet(request: ConfirmationRequest, timeZone: string): Notice {
  const from =
    request.status === 'approved' && request.execution.status === 'unknown'
      ? request.execution.settleFrom
      : null;
  const time = from === null ? '' : zonedTime(from, timeZone);
  return notice(
    'warning',
    `原来的调用在 ${time} 之前仍可能发出，请到那时再登记。`,
    `The earlier attempt may still go out until ${time}; please come back then.`,
  );
}

/** Who was first, and with what: the loser of a race is told the winner. */
function settledBefore(
  request: ConfirmationRequest,
  { person, timeZone }: { readonly person: PersonId; readonly timeZone: string },
): Notice {
  const execution = request.status === 'approved' ? request.execution : null;
  if (execution?.status === 'unknown' && execution.rerun !== null) {
    const [name, english] = namesOf(execution.rerun.by, person);
    return notice(
      'warning',
      `${name}已申请再执行一次，请在新的请求上处理；你的操作没有生效。`,
      `${english} asked to run it again; go on with the new request. What you did has no effect.`,
    );
  }
  if (execution?.status !== 'succeeded' && execution?.status !== 'failed') {
    return notice(
      'warning',
      '这次请求没有结果不明的执行，未作任何更改。',
      'This request has no outcome to settle; nothing was changed.',
    );
  }
  const time = zonedTime(execution.at, timeZone);
  const [name, english] = namesOf(execution.settledBy, person);
  const [chinese, word] = execution.status === 'succeeded' ? ['成功', 'succeeded'] : ['失败', 'failed'];
  return notice(
    execution.settledBy?.id === person ? 'info' : 'warning',
    `${name}已于 ${time} 登记为${chinese}，你的操作没有生效。`,
    `${english} recorded at ${time} that it ${word}; what you did has no effect.`,
  );
}

function namesOf(by: PersonRef | null, person: PersonId): readonly [string, string] {
  if (by === null) return ['系统', 'The service'];
  if (by.id === person) return ['你', 'You'];
  const name = visibleText(by.name).text;
  return [`${name} `, name];
}

const notice = (level: Notice['level'], chinese: string, english: string): Notice => ({
  level,
  text: { 'zh-CN': chinese, 'en-US': english },
});
