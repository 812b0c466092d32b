import type { AuditKind } from '../audit/audit-event.ts';
import type { Locale } from '../locale.ts';

/** Every word that the pages say by themselves; what cards say too comes from the card's texts. */
export interface ConsoleTexts {
  readonly title: string;
  readonly signIn: string;
  readonly signInAbout: string;
  readonly key: string;
  /** For whoever has none. */
  readonly noKey: string;
  readonly signedInAs: (name: string) => string;
  readonly signOut: string;
  readonly wrongKey: string;
  readonly notAPerson: string;
  readonly inactive: string;
  readonly tooMany: (seconds: number) => string;
  readonly otherOrigin: string;
  readonly tooLong: (characters: number) => string;
  readonly notFound: string;
  readonly goOn: string;
  readonly readOnly: string;
  /** The same where there is nothing to decide, but something to do. */
  readonly actOnCard: string;
  readonly hidden: string;
  readonly masked: string;
  readonly empty: string;
  readonly sections: Readonly<
    Record<
      'arguments' | 'facts' | 'outcome' | 'settle' | 'votes' | 'deliveries' | 'binding' | 'record',
      string
    >
  >;
  readonly fields: Readonly<
    Record<
      'id' | 'tool' | 'toolVersion' | 'digest' | 'callId' | 'approvers' | 'owner' | 'created' | 'executeBy',
      string
    >
  >;
  readonly verdicts: Readonly<Record<'approve' | 'reject', string>>;
  readonly viaApi: string;
  /** Before the digest of the card that a vote was cast from. */
  readonly saw: (version: number, locale: Locale) => string;
  readonly deliveryStates: Readonly<Record<'queued' | 'sent' | 'uncertain' | 'failed', string>>;
  readonly recordLater: string;
  readonly recordMore: string;
  readonly kinds: Readonly<Partial<Record<AuditKind, string>>>;
  readonly home: Readonly<Record<'title' | 'about' | 'requests' | 'docs', string>>;
  readonly otherLanguage: string;
}

export const CONSOLE_TEXTS: Readonly<Record<Locale, ConsoleTexts>> = {
  'zh-CN': {
    title: '审批请求',
    signIn: '登录',
    signInAbout: '用你自己的密钥登录，查看这份请求的全部内容。',
    key: '个人密钥',
    noKey: '没有密钥？请向管理员索取。',
    signedInAs: (name) => `已登录：${name}`,
    signOut: '退出',
    wrongKey: '没有人使用这个密钥。',
    notAPerson: '这是程序用的密钥。查看页面需要本人的密钥。',
    inactive: '该人员已停用。',
    tooMany: (seconds) => `尝试次数过多，请 ${seconds} 秒后再试。`,
    otherOrigin: '表单不是从本页面提交的，请重新打开链接再试。',
    tooLong: (characters) => `最多 ${characters} 个字符。`,
    notFound: '没有这份请求，或者你无权查看。',
    goOn: '继续',
    readOnly: '此页仅供查看。请在卡片上审批；卡片不能批准时，用你本人的密钥调用接口。',
    actOnCard: '此页仅供查看，请在卡片上操作。',
    hidden: '含有看不见的字符',
    masked: '已遮盖',
    empty: '无',
    sections: {
      arguments: '参数（全部）',
      facts: '请求',
      outcome: '结果',
      settle: '登记结果',
      votes: '表决',
      deliveries: '卡片发送',
      binding: '核对',
      record: '审计记录',
    },
    fields: {
      id: '请求编号',
      tool: '工具',
      toolVersion: '工具版本',
      digest: '参数指纹',
      callId: '调用编号',
      approvers: '审批人',
      owner: '代理负责人',
      created: '发起时间',
      executeBy: '须在此前执行',
    },
    verdicts: { approve: '批准', reject: '拒绝' },
    viaApi: '接口',
    saw: (version, locale) => `所见卡片：第 ${version} 版（${locale}）`,
    deliveryStates: { queued: '待发送', sent: '已发送', uncertain: '不确定是否送达', failed: '发送失败' },
    recordLater: '新的记录会在数秒内出现。',
    recordMore: '还有更多记录，请通过审计接口查看。',
    kinds: {
      'confirmation.requested': '发起请求',
      'confirmation.decided': '作出决定',
      'vote.cast': '表决',
      'vote.refused': '表决被拒绝',
      'cancellation.refused': '取消请求被拒绝',
      'delegate.seated': '代理人就位',
      'request.escalated': '已升级',
      'request.reminded': '已提醒',
      'request.rerouted': '改发备用渠道',
      'card.delivered': '卡片已发送',
      'card.failed': '卡片发送失败',
      'card.moved': '卡片已重新发送',
      'grant.claimed': '领取执行权',
      'grant.refused': '领取执行权被拒绝',
      'grant.revoked': '撤回执行权',
      'grant.lapsed': '执行权过期',
      'outcome.recorded': '记录执行结果',
      'outcome.settled': '人工确认执行结果',
      'outcome.reopened': '结果仍然不明，可重新登记',
      'call.denied': '调用被拦下',
      'tool.executed': '工具已执行',
      'callback.refused': '回调被拒绝',
    },
    home: {
      title: '智能体的人工审批',
      about: '敏感的工具调用，要先由指定的人批准，才会执行。',
      requests: '要查看一份请求，请在聊天里的卡片上点“查看完整请求”。',
      docs: '接口说明',
    },
    otherLanguage: 'English',
  },
  'en-US': {
    title: 'Approval request',
    signIn: 'Sign in',
    signInAbout: 'Sign in with your own key to see everything about this request.',
    key: 'Your key',
    noKey: 'No key? Ask your administrator for one.',
    signedInAs: (name) => `Signed in: ${name}`,
    signOut: 'Sign out',
    wrongKey: 'Nobody has this key.',
    notAPerson: "This is a program's key. The page needs a person's own.",
    inactive: 'This person is not active.',
    tooMany: (seconds) => `Too many attempts. Try again in ${seconds} seconds.`,
    otherOrigin: 'The form was not sent from this page. Open the link again and try once more.',
    tooLong: (characters) => `At most ${characters} characters.`,
    notFound: 'There is no such request, or you may not see it.',
    goOn: 'Go on',
    readOnly:
      'This page is for reading. Decide on the card or, where that cannot approve, over the API with your own key.',
    actOnCard: 'This page is for reading; the buttons are on the card.',
    hidden: 'holds characters that cannot be seen',
    masked: 'masked',
    empty: 'none',
    sections: {
      arguments: 'Arguments, all of them',
      facts: 'Request',
      outcome: 'What became of it',
      settle: 'Say what became of it',
      votes: 'Votes',
      deliveries: 'Cards sent',
      binding: 'To compare',
      record: 'The record',
    },
    fields: {
      id: 'Request id',
      tool: 'Tool',
      toolVersion: 'Tool version',
      digest: 'Digest',
      callId: 'Call id',
      approvers: 'Approvers',
      owner: "Agent's owner",
      created: 'Asked at',
      executeBy: 'Must run before',
    },
    verdicts: { approve: 'Approve', reject: 'Reject' },
    viaApi: 'API',
    saw: (version, locale) => `saw version ${version} of the card (${locale})`,
    deliveryStates: {
      queued: 'waiting to be sent',
      sent: 'sent',
      uncertain: 'may not have arrived',
      failed: 'could not be sent',
    },
    recordLater: 'New events appear within seconds.',
    recordMore: 'There are more events; the audit API has them all.',
    kinds: {
      'confirmation.requested': 'Requested',
      'confirmation.decided': 'Decided',
      'vote.cast': 'Vote',
      'vote.refused': 'Vote refused',
      'cancellation.refused': 'Cancellation refused',
      'delegate.seated': 'Delegate seated',
      'request.escalated': 'Escalated',
      'request.reminded': 'Reminded',
      'request.rerouted': 'Fallback channels asked',
      'card.delivered': 'Card sent',
      'card.failed': 'Card could not be sent',
      'card.moved': 'Card moved to a new message',
      'grant.claimed': 'Grant claimed',
      'grant.refused': 'Grant refused',
      'grant.revoked': 'Grant withdrawn',
      'grant.lapsed': 'Grant lapsed',
      'outcome.recorded': 'Outcome recorded',
      'outcome.settled': 'Outcome settled by a person',
      'outcome.reopened': 'Outcome unknown again, open to be settled',
      'call.denied': 'Call blocked',
      'tool.executed': 'Tool executed',
      'callback.refused': 'Callback refused',
    },
    home: {
      title: 'Human approval for agents',
      about: 'No sensitive tool call runs until the right person has approved exactly that call.',
      requests: 'To see a request, press “Full request” on its card in the chat.',
      docs: 'The API',
    },
    otherLanguage: '中文',
  },
};
