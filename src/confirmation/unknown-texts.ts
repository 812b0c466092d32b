import type { Notice } from '../channel/card.ts';
import type { Locale, LocalizedText } from '../locale.ts';
import type { Settlement } from './confirmation-service.ts';

/** What a card says of an outcome that nobody knows, and of requests that take each other's place. */
export interface UnknownTexts {
  /** At the head of the card once running again was asked for. */
  readonly rerunAsked: string;
  readonly labels: Readonly<
    Record<'check' | 'key' | 'settleFrom' | 'rerunBy' | 'rerunReason' | 'supersededBy' | 'supersedes', string>
  >;
  readonly check: { readonly ofRun: string; readonly ofAgent: string };
  readonly settleFrom: (time: string) => string;
  readonly rerunWarning: (older: string) => string;
  readonly actions: Readonly<Record<Settlement | 'detail' | 'detailOrReason', string>>;
}

export const UNKNOWN_TEXTS: Readonly<Record<Locale, UnknownTexts>> = {
  'zh-CN': {
    rerunAsked: '结果不明，已申请再执行一次',
    labels: {
      check: '请核实',
      key: '幂等键（Idempotency-Key）',
      settleFrom: '何时可登记结果',
      rerunBy: '申请再执行',
      rerunReason: '再执行的理由',
      supersededBy: '取而代之的请求',
      supersedes: '取代的请求',
    },
    check: {
      ofRun:
        '没有人知道这次调用是否已经发出、是否生效。请先在被调用的系统里按下面的幂等键、金额和收款方查清楚，再登记结果。',
      ofAgent: '没有人知道这次调用是否已经执行。请先在被调用的系统里按金额、收款方和时间查清楚，再登记结果。',
    },
    settleFrom: (time) => `${time} 起；此前原来的调用仍可能发出，无法登记结果`,
    rerunWarning: (older) =>
      `这是把请求 ${older} 的同一次调用再执行一次：那次的结果没有人知道，可能已经生效。使用同一个幂等键。`,
    actions: {
      succeeded: '已经成功',
      failed: '没有成功',
      run_again: '再执行一次',
      detail: '核实情况：在哪里查的，看到什么（必填）',
      detailOrReason: '核实情况，或再执行的理由（必填）',
    },
  },
  'en-US': {
    rerunAsked: 'Outcome unknown, running it again was asked for',
    labels: {
      check: 'What to check',
      key: 'Idempotency-Key',
      settleFrom: 'Can be settled',
      rerunBy: 'Run again asked by',
      rerunReason: 'Why again',
      supersededBy: 'Replaced by request',
      supersedes: 'Takes the place of request',
    },
    check: {
      ofRun:
        'Nobody knows whether this call went out, nor whether it took effect. Look it up in the system that was called, by the Idempotency-Key below, the amount and the payee; then record what you found.',
      ofAgent:
        'Nobody knows whether this call ran. Look it up in the system that was called, by amount, payee and time; then record what you found.',
    },
    settleFrom: (time) => `From ${time}; until then the earlier attempt may still go out`,
    rerunWarning: (older) =>
      `This runs the call of request ${older} again. Nobody knows the outcome of that one; it may have taken effect. It goes out under the same Idempotency-Key.`,
    actions: {
      succeeded: 'It succeeded',
      failed: 'It failed',
      run_again: 'Run again',
      detail: 'What you found, and where (required)',
      detailOrReason: 'What you found and where, or why again (required)',
    },
  },
};

/** The modal that asks what somebody found; titles and buttons stay under 24 characters, all that Slack shows. */
export const SETTLE_DIALOG: Readonly<
  Record<Settlement, Readonly<Record<'title' | 'label' | 'submit' | 'cancel', LocalizedText>>>
> = {
  succeeded: {
    title: both('登记：已经成功', 'It succeeded'),
    label: both('你在哪里核实的？看到了什么？', 'Where did you look, and what did you find?'),
    submit: both('登记为成功', 'It succeeded'),
    cancel: both('返回', 'Back'),
  },
  failed: {
    title: both('登记：没有成功', 'It failed'),
    label: both('你在哪里核实的？看到了什么？', 'Where did you look, and what did you find?'),
    submit: both('登记为失败', 'It failed'),
    cancel: both('返回', 'Back'),
  },
  run_again: {
    title: both('申请再执行一次', 'Run again'),
    label: both('为什么要再执行一次？', 'Why should it run again?'),
    submit: both('申请再执行', 'Ask to run again'),
    cancel: both('返回', 'Back'),
  },
};

/** What the person is told whose word was taken. */
export const SETTLED_NOTICES: Readonly<Record<Settlement, Notice>> = {
  succeeded: notice('success', '已登记：执行成功。', 'Recorded: it succeeded.'),
  failed: notice('success', '已登记：没有成功。', 'Recorded: it failed.'),
  run_again: notice(
    'success',
    '已提出新的请求；获批之后，会用同一个幂等键再执行一次。',
    'A new request is out. Once it is approved, the call runs again under the same Idempotency-Key.',
  ),
};

export const SETTLE_REFUSALS = {
  not_repeatable: notice(
    'error',
    '这次调用不能再执行：工具没有声明为幂等，或者定义已变。请登记成功或失败。',
    'This call cannot run again: its tool is not declared idempotent, or has changed. Say whether it succeeded or failed.',
  ),
  policy_error: notice(
    'error',
    '按现在的规则无法决定由谁审批，未作任何更改。',
    'No rule of today says who would have to approve it; nothing was changed.',
  ),
  undeliverable: notice(
    'error',
    '没有足够的人可以审批再次执行；结果仍然不明。',
    'Too few people could approve running it again; the outcome is as unknown as before.',
  ),
  detail_missing: notice('warning', '请填写核实情况。', 'Please say what you found.'),
} as const satisfies Record<string, Notice>;

function both(chinese: string, english: string): LocalizedText {
  return { 'zh-CN': chinese, 'en-US': english };
}
function notice(level: Notice['level'], chinese: string, english: string): Notice {
  return { level, text: both(chinese, english) };
}
