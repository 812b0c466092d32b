import { cutText } from '../channel/cut-text.ts';
import { isQuiet, type ReminderKind } from '../channel/reminder-outbox.ts';
import { visibleText } from '../channel/visible-text.ts';
import type { Locale } from '../locale.ts';
import { approvalsOf } from './approvals.ts';
import { type CardOfInput, cardOf } from './card-of.ts';
import type { PersonRef } from './confirmation-request.ts';
import { resultNote } from './result-note.ts';
import { escalatedSeatsOf } from './seats.ts';
import { settleActions } from './unknown-facts.ts';
import { zonedTime } from './zoned-time.ts';

interface ReminderFacts {
  readonly title: string;
  readonly progress: string;
  readonly deadline: string;
  readonly code: string;
}

interface ReminderTexts {
  readonly reminder: (facts: ReminderFacts) => string;
  readonly escalation: (facts: ReminderFacts, names: readonly string[]) => string;
  readonly unknown: (title: string, code: string) => string;
  readonly failed: (title: string, code: string) => string;
}

const TEXTS: Readonly<Record<Locale, ReminderTexts>> = {
  'zh-CN': {
    reminder: ({ title, deadline, code }) =>
      `提醒，仍在等待：${title}。截止时间 ${deadline}，核对码 ${code}。请在上方卡片中处理。`,
    escalation: ({ title, progress, deadline, code }, names) =>
      `已升级，增加审批人：${names.join('、')}（${progress}，所需人数不变）。${title}。截止时间 ${deadline}，核对码 ${code}。请在上方卡片中处理。`,
    unknown: (title, code) =>
      `需要人工核实：没有人知道这次调用是否已经生效。${title}，核对码 ${code}。请查清楚后在上方卡片中登记。`,
    failed: (title, code) => `已批准的调用执行失败。${title}，核对码 ${code}。详情见上方卡片。`,
  },
  'en-US': {
    reminder: ({ title, deadline, code }) =>
      `Reminder, still open: ${title}. Decide by ${deadline}, verification code ${code}. Please use the card above.`,
    escalation: ({ title, progress, deadline, code }, names) =>
      `Escalated, now also asked: ${names.join(', ')} (${progress}, as many approvals as before). ${title}. Decide by ${deadline}, verification code ${code}. Please use the card above.`,
    unknown: (title, code) =>
      `Somebody has to look: nobody knows whether this call took effect. ${title}, verification code ${code}. Please find out, then say so on the card above.`,
    failed: (title, code) =>
      `The call that was approved has failed. ${title}, verification code ${code}. The card above says more.`,
  },
};

/** In UTF-16 units. */
const LONGEST_NAMES = 300;

/** What a note under a card says; null once that is not so any more: the request is closed, its outcome known. */
export function reminderText(input: CardOfInput & { readonly kind: ReminderKind }): string | null {
  const { request, locale, timeZone, kind } = input;
  if (kind === 'unknown') {
    const open = settleActions(request, locale) !== null;
    return open ? TEXTS[locale].unknown(cardOf(input).title, request.verificationCode) : null;
  }
  if (kind === 'failed') {
    const failed = request.status === 'approved' && request.execution.status === 'failed';
    return failed ? TEXTS[locale].failed(cardOf(input).title, request.verificationCode) : null;
  }
  if (isQuiet(kind)) return resultNote({ ...input, kind });
  if (request.status !== 'pending') return null;
  const facts: ReminderFacts = {
    title: cardOf(input).title,
    progress: `${approvalsOf(request).length}/${request.policy.quorum}`,
    deadline: zonedTime(request.decideBy, timeZone),
    code: request.verificationCode,
  };
  const texts = TEXTS[locale];
  return kind === 'reminder'
    ? texts.reminder(facts)
    : texts.escalation(facts, namesOf(escalatedSeatsOf(request)));
}

function namesOf(people: readonly PersonRef[]): readonly string[] {
  const names: string[] = [];
  let length = 0;
  for (const { name } of people) {
    const visible = cutText(visibleText(name).text, LONGEST_NAMES).text;
    length += visible.length;
    if (length > LONGEST_NAMES) return [...names, '…'];
    names.push(visible);
  }
  return names;
}
