import type { CardState } from '../channel/card.ts';
import { CARD_WORDS } from '../channel/card-words.ts';
import type { Locale } from '../locale.ts';
import type { ReasonMode } from '../verdict.ts';
import type { RevocationDetail } from './confirmation-request.ts';

/** Every word that a card says by itself. Names, amounts and reasons are put in already made visible. */
export interface CardTexts {
  /** What state it is in, at the head of the card. */
  readonly states: Readonly<Record<CardState, string>>;
  readonly superseded: string;
  /** The state together with how many have approved and how many are needed. */
  readonly counted: (state: string, given: number, needed: number) => string;
  /** Before the state, while a freeze keeps the call from running. */
  readonly frozen: string;
  /** Before the state, on a message whose card stands further down. */
  readonly moved: string;
  readonly roles: Readonly<Record<'amount' | 'currency' | 'payee', string>>;
  readonly notGiven: string;
  readonly noArguments: string;
  readonly moreArguments: (count: number) => string;
  readonly cut: (missing: number) => string;
  /** Before the agent's own words. */
  readonly agentSays: string;
  readonly facts: Readonly<
    Record<
      | 'follows'
      | 'agent'
      | 'requester'
      | 'policy'
      | 'votes'
      | 'delegates'
      | 'escalated'
      | 'code'
      | 'digest'
      | 'deadline'
      | 'run'
      | 'session',
      string
    >
  >;
  /** Beside a rejection that came before: whether it was, by its digest, of the call that is asked about now. */
  readonly rejectedCall: Readonly<Record<'same' | 'other', string>>;
  /** A delegate and the person for whom they vote. */
  readonly standsIn: (delegate: string, holder: string) => string;
  readonly until: (words: string, time: string) => string;
  readonly since: (words: string, time: string) => string;
  readonly votes: (given: number, needed: number, names: readonly string[]) => string;
  readonly warnings: {
    readonly hidden: (labels: string) => string;
    readonly requesterNamedByAgent: (name: string) => string;
    readonly decisiveMissing: (label: string, pointer: string) => string;
    readonly frozen: (reason: string, by: string, since: string) => string;
    readonly masked: (labels: string) => string;
    readonly decisiveMasked: (labels: string) => string;
    readonly redacted: string;
    readonly withheld: string;
    readonly moved: string;
  };
  readonly outcome: Readonly<
    Record<
      | 'approvedBy'
      | 'rejectedBy'
      | 'cancelledBy'
      | 'result'
      | 'at'
      | 'reason'
      | 'execution'
      | 'coolingOffUntil'
      | 'runBy'
      | 'detail'
      | 'revokedBy'
      | 'revokeReason'
      | 'settledBy',
      string
    >
  >;
  readonly results: {
    readonly expired: (given: number, needed: number) => string;
    readonly undeliverable: string;
    readonly cancelledByNobody: string;
    readonly superseded: string;
  };
  readonly execution: {
    readonly notAllowed: string;
    readonly unclaimed: string;
    readonly coolingOff: string;
    readonly claimed: (at: string) => string;
    readonly succeeded: (at: string, source: string) => string;
    readonly failed: (at: string, source: string) => string;
    readonly unknown: string;
    readonly lapsed: string;
    readonly revoked: (why: string) => string;
  };
  /** Who says what became of it; our own executor needs no word. */
  readonly sources: Readonly<Record<'executor' | 'agent' | 'settlement' | 'timeout', string>>;
  readonly revocations: Readonly<Record<RevocationDetail, string>>;
  readonly names: (names: readonly string[]) => string;
  readonly link: string;
  /** To the page of the request that was rejected before. */
  readonly followedLink: string;
  readonly revoke: string;
  readonly actions: Readonly<Record<'approve' | 'reject' | 'submit' | 'cancel', string>>;
  /** Over the field for a reason, by when the policy wants one. */
  readonly reasonLabels: Readonly<Record<ReasonMode, string>>;
}

export const CARD_TEXTS: Readonly<Record<Locale, CardTexts>> = {
  'zh-CN': {
    states: {
      pending: '待审批',
      approved: '已批准，等待执行',
      'cooling-off': '已批准，冷静期内，可撤回',
      executing: '已批准，正在执行',
      succeeded: '已批准，执行成功',
      failed: '已批准，执行失败',
      unknown: '已批准，结果不明，请核实',
      lapsed: '已批准，但逾期未执行',
      revoked: '已批准，后被撤回，未执行',
      rejected: '已拒绝',
      expired: '已过期，未批准',
      cancelled: '已取消',
      undeliverable: '未能送达，未批准',
    },
    superseded: '已作废，由新请求取代',
    counted: (state, given, needed) => `${state}（${given}/${needed}）`,
    frozen: '执行已冻结',
    moved: '卡片已移动',
    roles: { amount: '金额', currency: '币种', payee: '收款方' },
    notGiven: '（未提供）',
    noArguments: '（无参数）',
    moreArguments: (count) => `另有 ${count} 项，请查看完整请求`,
    cut: CARD_WORDS['zh-CN'].moreCharacters,
    agentSays: '代理自述（未核实）',
    facts: {
      follows: '此前被拒',
      agent: '发起代理',
      requester: '为谁发起',
      policy: '审批规则',
      votes: '批准进度',
      delegates: '代为审批',
      escalated: '升级后增加',
      code: '核对码',
      digest: '参数指纹',
      deadline: '截止时间',
      run: '运行',
      session: '会话',
    },
    rejectedCall: { same: '与本次完全相同', other: '与本次不同' },
    standsIn: (delegate, holder) => `${delegate}（代${holder}）`,
    until: (words, time) => `${words}，至 ${time}`,
    since: (words, time) => `${words}，${time} 起`,
    votes: (given, needed, names) => `${given}/${needed}${names.length > 0 ? `（${names.join('、')}）` : ''}`,
    warnings: {
      hidden: (labels) => `含有看不见的字符，已用 ⟨U+…⟩ 标出，请当心：${labels}`,
      requesterNamedByAgent: (name) => `“${name}”是代理自己报的，未经核实。`,
      decisiveMissing: (label, pointer) =>
        `参数中没有${label}（${pointer}），不能在此卡片上批准。完整请求只供查看；要批准，请用本人的密钥调用接口。`,
      frozen: (reason, by, since) =>
        `执行已冻结：${reason}（${by}，自 ${since}）。冻结解除前，即使批准也不会执行。`,
      masked: (labels) => `以下内容已遮盖（•••••），执行时仍用原值：${labels}`,
      decisiveMasked: (labels) =>
        `决定所需的内容含有须遮盖的机密，此卡片无法完整显示，因此不能在此批准。完整请求只供查看；要批准，请用本人的密钥调用接口。所涉内容：${labels}`,
      redacted: '平台拒绝了卡片的部分内容：此处只显示决定所需的内容，其余请查看完整请求。',
      withheld:
        '平台拒绝了卡片的内容：此处未显示参数，因此不能在此批准。完整请求只供查看；要批准，请用本人的密钥调用接口。',
      moved: '聊天平台很快就不能再更新这张卡片：请用会话下方的新卡片。',
    },
    outcome: {
      approvedBy: '批准人',
      rejectedBy: '拒绝人',
      cancelledBy: '取消人',
      result: '结果',
      at: '结束时间',
      reason: '理由',
      execution: '执行情况',
      coolingOffUntil: '冷静期至',
      runBy: '须在此前执行',
      detail: '详情',
      revokedBy: '撤回人',
      revokeReason: '撤回理由',
      settledBy: '核实人',
    },
    results: {
      expired: (given, needed) => `截止前批准数不足（${given}/${needed}）`,
      undeliverable: '没有渠道能把卡片送到审批人',
      cancelledByNobody: '由发起方取消',
      superseded: '参数已变更，由新请求取代',
    },
    execution: {
      notAllowed: '没有执行，也不会执行',
      unclaimed: '尚未执行',
      coolingOff: '尚未执行；冷静期内不会执行，任一审批人可撤回批准',
      claimed: (at) => `正在执行，${at} 开始，尚无结果`,
      succeeded: (at, source) => `执行成功，${at}${source}`,
      failed: (at, source) => `执行失败，${at}${source}`,
      unknown: '结果不明：可能已经执行。请人工核实；系统不会自动重试',
      lapsed: '逾期没有执行，批准已失效',
      revoked: (why) => `没有执行：${why}`,
    },
    sources: { executor: '', agent: '（代理报告）', settlement: '（人工核实）', timeout: '（超时推定）' },
    revocations: {
      tool_changed: '批准之后工具定义变了',
      read_only: '已切换为只读',
      frozen: '执行已被冻结',
      cancelled: '发起方已取消请求',
      revoked: '审批人已撤回批准',
      superseded: '同一次调用换了参数，由新请求取代',
    },
    names: (names) => names.join('、'),
    link: '查看完整请求',
    followedLink: '查看此前被拒的请求',
    revoke: '撤回批准',
    actions: { approve: '批准', reject: '拒绝', submit: '提交', cancel: '返回' },
    reasonLabels: { never: '理由', 'on-reject': '拒绝理由（拒绝时必填）', always: '理由（必填）' },
  },
  'en-US': {
    states: {
      pending: 'Approval needed',
      approved: 'Approved, waiting to run',
      'cooling-off': 'Approved, cooling off: can be revoked',
      executing: 'Approved, running now',
      succeeded: 'Approved and done',
      failed: 'Approved, but it failed',
      unknown: 'Approved, outcome unknown: please check',
      lapsed: 'Approved, but not run in time',
      revoked: 'Approved, then revoked: not run',
      rejected: 'Rejected',
      expired: 'Expired, not approved',
      cancelled: 'Cancelled',
      undeliverable: 'Not delivered, not approved',
    },
    superseded: 'Replaced by a newer request',
    counted: (state, given, needed) => `${state} (${given}/${needed})`,
    frozen: 'Execution frozen',
    moved: 'This card has moved',
    roles: { amount: 'Amount', currency: 'Currency', payee: 'Payee' },
    notGiven: '(not given)',
    noArguments: '(no arguments)',
    moreArguments: (count) => `and ${count} more, see the full request`,
    cut: CARD_WORDS['en-US'].moreCharacters,
    agentSays: 'The agent says (not verified)',
    facts: {
      follows: 'Rejected before',
      agent: 'Asked by agent',
      requester: 'On behalf of',
      policy: 'Policy',
      votes: 'Approvals',
      delegates: 'Standing in',
      escalated: 'Escalated to',
      code: 'Verification code',
      digest: 'Digest',
      deadline: 'Decide by',
      run: 'Run',
      session: 'Session',
    },
    rejectedCall: { same: 'the very same call', other: 'another call of this tool' },
    standsIn: (delegate, holder) => `${delegate} for ${holder}`,
    until: (words, time) => `${words}, until ${time}`,
    since: (words, time) => `${words}, since ${time}`,
    votes: (given, needed, names) => `${given}/${needed}${names.length > 0 ? ` (${names.join(', ')})` : ''}`,
    warnings: {
      hidden: (labels) =>
        `Take care: characters that cannot be seen, written out here as ⟨U+…⟩, are in ${labels}`,
      requesterNamedByAgent: (name) => `“${name}” was named by the agent itself; nobody verified that.`,
      decisiveMissing: (label, pointer) =>
        `The arguments hold no ${label.toLowerCase()} (${pointer}), so this card cannot approve. The full request is for reading; approve over the API with your own key.`,
      frozen: (reason, by, since) =>
        `Execution is frozen: ${reason} (${by}, since ${since}). Until that ends it will not run, even if approved.`,
      masked: (labels) => `Masked here (•••••); what runs has the real value: ${labels}`,
      decisiveMasked: (labels) =>
        `What decides holds a secret that has to be masked, so this card cannot show it in full and cannot approve. The full request is for reading; approve over the API with your own key. It is in ${labels}`,
      redacted:
        'The chat platform refused a part of this card: only what decides is shown here; see the full request for the rest.',
      withheld:
        'The chat platform refused what this card says: the arguments are not shown here, so it cannot approve. The full request is for reading; approve over the API with your own key.',
      moved: 'The chat platform will soon not update this message any more: use the new card further down.',
    },
    outcome: {
      approvedBy: 'Approved by',
      rejectedBy: 'Rejected by',
      cancelledBy: 'Cancelled by',
      result: 'Result',
      at: 'Closed at',
      reason: 'Reason',
      execution: 'Execution',
      coolingOffUntil: 'Cooling off until',
      runBy: 'Must run before',
      detail: 'Detail',
      revokedBy: 'Revoked by',
      revokeReason: 'Why revoked',
      settledBy: 'Checked by',
    },
    results: {
      expired: (given, needed) => `Not enough approvals by the deadline (${given}/${needed})`,
      undeliverable: 'No channel could bring the card to an approver',
      cancelledByNobody: 'Cancelled by the requesting side',
      superseded: 'The arguments changed; a newer request took its place',
    },
    execution: {
      notAllowed: 'Did not run and will not',
      unclaimed: 'Not run yet',
      coolingOff: 'Not run yet; it does not run while it cools off, and any approver may revoke it',
      claimed: (at) => `Running since ${at}; no result yet`,
      succeeded: (at, source) => `Done at ${at}${source}`,
      failed: (at, source) => `Failed at ${at}${source}`,
      unknown: 'Outcome unknown: it may have run. A person has to check; it is never retried by itself',
      lapsed: 'Did not run in time; the approval is void',
      revoked: (why) => `Did not run: ${why}`,
    },
    sources: {
      executor: '',
      agent: ' (reported by the agent)',
      settlement: ' (checked by a person)',
      timeout: ' (no report in time)',
    },
    revocations: {
      tool_changed: 'the tool changed after the approval',
      read_only: 'writing was switched off',
      frozen: 'execution was frozen',
      cancelled: 'who asked cancelled it',
      revoked: 'an approver took the approval back',
      superseded: 'the agent asked about the same call with other arguments',
    },
    names: (names) => names.join(', '),
    link: 'Full request',
    followedLink: 'The rejected request',
    revoke: 'Revoke approval',
    actions: { approve: 'Approve', reject: 'Reject', submit: 'Submit', cancel: 'Back' },
    reasonLabels: { never: 'Reason', 'on-reject': 'Reason (needed to reject)', always: 'Reason (required)' },
  },
};
