import { assertNever } from '../assert-never.ts';
import type { Notice } from '../channel/card.ts';
import { visibleText } from '../channel/visible-text.ts';
import type { LocalizedText } from '../locale.ts';
import type { Verdict } from '../verdict.ts';
import { approvalsOf } from './approvals.ts';
import type { ClosedConfirmationRequest, ConfirmationRequest } from './confirmation-request.ts';
import type { DecideOutcome } from './confirmation-service.ts';
import { zonedTime } from './zoned-time.ts';

/** What a person is told who tapped and whose tap says nothing, or nothing we accept. */
export const NOTICES = {
  mismatch: error(
    '这张卡片与记录不符，未作任何更改。请在原来的会话里用最新的卡片操作。',
    'This card does not match our record; nothing was changed. Use the newest card in its own chat.',
  ),
  movedCard: error(
    '这张卡片已移到会话下方，未作任何更改。请用最新的卡片操作。',
    'This card has moved further down in the chat; nothing was changed. Use the newest one.',
  ),
  otherPerson: error(
    '这个窗口不是为你打开的，未作任何更改。',
    'This dialog was opened for somebody else; nothing was changed.',
  ),
  bot: error('机器人不能审批，未作任何更改。', 'A bot cannot decide; nothing was changed.'),
  unknownPerson: error(
    '系统不认识这个账号，未作任何更改。请管理员把你的账号加入配置。',
    'This account is not known here; nothing was changed. Ask an administrator to add it.',
  ),
  ambiguousPerson: error(
    '这个账号对应多个人，未作任何更改。请管理员修正配置。',
    'This account belongs to more than one person; nothing was changed. Ask an administrator to mend that.',
  ),
  notIdentified: error(
    '暂时查不到你是谁，没有记录，未作任何更改。请重试。',
    'We could not find out who you are just now; nothing was recorded or changed. Please try again.',
  ),
  decisiveNotShown: error(
    '此卡片没有完整显示关键内容，不能在此批准。完整请求只供查看；要批准，请用本人的密钥调用接口。',
    'This card could not show everything that matters, so it cannot approve. The full request is for reading; approve over the API with your own key.',
  ),
  reasonMissing: warning('请填写理由。', 'Please say why.'),
  reasonNotAsked: error(
    '无法打开填写理由的窗口，未作任何更改。请再点一次。',
    'The dialog for the reason could not be opened; nothing was changed. Please tap again.',
  ),
  notRecorded: error(
    '没有记录成功，请重试。卡片若已变化，以卡片为准。',
    'Not recorded, please try again. Where the card has changed, the card is right.',
  ),
  unconfirmed: warning(
    '还不能确定是否已记录。请先看卡片的状态，再决定是否重试。',
    'Not confirmed yet. Look at the card before you try again.',
  ),
} as const satisfies Record<string, Notice>;

/** What the modal that asks for a reason says; titles stay under 24 characters, which is all that Slack shows. */
export const REASON_DIALOG: Readonly<
  Record<Verdict, Readonly<Record<'title' | 'label' | 'submit' | 'cancel', LocalizedText>>>
> = {
  approve: {
    title: both('批准理由', 'Reason to approve'),
    label: both('为什么批准？', 'Why do you approve?'),
    submit: both('批准', 'Approve'),
    cancel: both('返回', 'Back'),
  },
  reject: {
    title: both('拒绝理由', 'Reason to reject'),
    label: both('为什么拒绝？', 'Why do you reject?'),
    submit: both('拒绝', 'Reject'),
    cancel: both('返回', 'Back'),
  },
};

/** Every outcome that is told as a sentence; a missing reason is asked for instead. */
export type ToldOutcome = Exclude<DecideOutcome, { readonly kind: 'reason-required' }>;

/** What `decide()` made of a person's tap, in a sentence for that person. Times are read in `timeZone`. */
export function noticeOf(outcome: ToldOutcome, verdict: Verdict, timeZone: string): Notice {
  switch (outcome.kind) {
    case 'recorded':
      return recorded(outcome.request, outcome.closed, verdict);
    case 'repeated':
      return repeated(outcome.request, verdict);
    case 'already-decided':
      return alreadyDecided(outcome.request, timeZone);
    case 'expired': {
      const at = zonedTime(outcome.request.decideBy, timeZone);
      return warning(`已于 ${at} 过期，你的操作没有生效。`, `Expired at ${at}; what you did has no effect.`);
    }
    case 'refused':
      return REFUSALS[outcome.code];
    case 'not-found':
      return NOTICES.mismatch;
    default:
      return assertNever(outcome);
  }
}

export const REFUSALS: Readonly<Record<Extract<DecideOutcome, { kind: 'refused' }>['code'], Notice>> = {
  not_an_approver: error(
    '你不在这次请求的审批人之中，未作任何更改。',
    'You are not an approver of this request; nothing was changed.',
  ),
  self_approval: error(
    '不能批准自己的请求，需要由其他审批人批准。',
    'You cannot approve your own request; another approver has to.',
  ),
  excluded: error(
    '按规则你不能批准这次请求，需要由其他审批人批准。',
    'The policy does not let you approve this call; another approver has to.',
  ),
  seat_taken: error(
    '这个席位已经有人批准，未作任何更改。',
    'This seat has been voted for already; nothing was changed.',
  ),
  inactive_person: error(
    '你的账号已停用，未作任何更改。',
    'Your account is not active; nothing was changed.',
  ),
  args_changed: error(
    '请求的内容与你看到的不一致，未作任何更改。请打开最新的请求。',
    'The request is not what you were shown; nothing was changed. Open the newest one.',
  ),
};

function recorded(request: ConfirmationRequest, closed: boolean, verdict: Verdict): Notice {
  if (verdict === 'reject') return success('已拒绝，不会获准执行。', 'Rejected. It is not allowed to run.');
  if (closed) {
    return success('已批准。执行结果会显示在卡片上。', 'Approved. The card will show what becomes of it.');
  }
  const { quorum } = request.policy;
  const given = approvalsOf(request).length;
  return success(
    `已记录你的批准（${given}/${quorum}），还需 ${quorum - given} 人。`,
    `Your approval is recorded (${given}/${quorum}); ${quorum - given} more needed.`,
  );
}

function repeated(request: ConfirmationRequest, verdict: Verdict): Notice {
  const waits = request.status === 'pending';
  const { quorum } = request.policy;
  const given = approvalsOf(request).length;
  if (verdict === 'reject')
    return info('你已经拒绝过了，无变化。', 'You have already rejected this; nothing changed.');
  return waits
    ? info(
        `你已经批准过了，无变化（${given}/${quorum}）。`,
        `You have already approved this; nothing changed (${given}/${quorum}).`,
      )
    : info('你已经批准过了，无变化。', 'You have already approved this; nothing changed.');
}

function alreadyDecided(request: ClosedConfirmationRequest, timeZone: string): Notice {
  const { decision } = request;
  const at = zonedTime(decision.at, timeZone);
  const [chinese, english] = DECIDED_WORDS[request.status];
  const name = decision.by === null ? null : visibleText(decision.by.name).text;
  return warning(
    `${name === null ? '' : `${name} `}已于 ${at} ${chinese}，你的操作没有生效。`,
    `Already ${english}${name === null ? '' : ` by ${name}`} at ${at}; what you did has no effect.`,
  );
}

const DECIDED_WORDS = {
  approved: ['批准', 'approved'],
  rejected: ['拒绝', 'rejected'],
  expired: ['过期', 'expired'],
  cancelled: ['取消', 'cancelled'],
  undeliverable: ['结束（未能送达）', 'closed as undeliverable'],
} as const;

function both(chinese: string, english: string): LocalizedText {
  return { 'zh-CN': chinese, 'en-US': english };
}
function notice(level: Notice['level'], chinese: string, english: string): Notice {
  return { level, text: both(chinese, english) };
}
function success(chinese: string, english: string): Notice {
  return notice('success', chinese, english);
}
function info(chinese: string, english: string): Notice {
  return notice('info', chinese, english);
}
function warning(chinese: string, english: string): Notice {
  return notice('warning', chinese, english);
}
function error(chinese: string, english: string): Notice {
  return notice('error', chinese, english);
}
