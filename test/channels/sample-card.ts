import type { Card, CardActions } from '../../src/channel/card.ts';
import { newConfirmationId } from '../../src/ids.ts';
import type { ReasonMode } from '../../src/verdict.ts';

/** A pending payment as the core would hand it to a channel, with whatever a test wants to change. */
export function sampleCard(changes: Partial<Card> = {}): Card {
  return {
    confirmationId: newConfirmationId(),
    version: 1,
    locale: 'zh-CN',
    state: 'pending',
    frozen: false,
    title: '待审批：oa__purchase_pay',
    tool: 'oa__purchase_pay',
    lines: [
      { label: 'amount', value: '68000.00', decisive: true },
      { label: 'currency', value: 'CNY', decisive: true },
      { label: 'payee', value: '上海示例科技有限公司', decisive: true },
      { label: 'memo', value: '十一月的服务器采购', decisive: false },
    ],
    linesLeftOut: 0,
    warnings: [],
    summary: { label: '代理自述（未核实）', value: '“采购单 PO-1182 已验收，需要付款。”' },
    facts: [
      { label: '申请人', value: '赵敏（由代理 procurement 发起）' },
      { label: '批准进度', value: '0/2' },
      { label: '截止', value: '2026-11-30 18:20 (Asia/Shanghai, UTC+8)' },
    ],
    references: [
      { label: '策略', value: 'large-payment' },
      { label: '校验码', value: '7F3K9QZD' },
    ],
    outcome: [],
    verificationCode: '7F3K9QZD',
    digest: { label: '参数指纹', value: 'sha256:0123456789ab…' },
    link: 'https://gate.example/confirmations/0198',
    linkLabel: '查看完整请求',
    followedLink: null,
    actions: decideActions('never'),
    translations: [],
    ...changes,
  };
}

export const decideActions = (reason: ReasonMode, approvable = true): CardActions => ({
  kind: 'decide',
  reason,
  approvable,
  labels: { approve: '批准', reject: '拒绝', reason: '理由', submit: '提交', cancel: '取消' },
});

/** The same request once it was approved, while it cools off: one button, to revoke. */
export const coolingCard = (card: Card): Card => ({
  ...card,
  version: card.version + 1,
  state: 'cooling-off',
  title: '已批准，冷静期内，可撤回：oa__purchase_pay',
  outcome: [{ label: '执行', value: '冷静期到 2026-11-30 18:07 (Asia/Shanghai, UTC+8)' }],
  actions: { kind: 'revoke', label: '撤回批准' },
});

/** The same request where nobody knows what became of it, of a tool that may run again. */
export const unknownCard = (card: Card): Card => ({
  ...card,
  version: card.version + 1,
  state: 'unknown',
  title: '已批准，结果不明，请核实：oa__purchase_pay',
  outcome: [{ label: '请核实', value: '没有人知道这次调用是否已经发出' }],
  actions: {
    kind: 'settle',
    labels: { succeeded: '已经成功', failed: '没有成功', run_again: '再执行一次', detail: '核实情况' },
  },
});

/** The same request once it was approved and executed: no buttons, and what became of it. */
export const closedCard = (card: Card): Card => ({
  ...card,
  version: card.version + 1,
  state: 'succeeded',
  title: '已批准并已执行：oa__purchase_pay',
  outcome: [
    { label: '执行', value: '已成功' },
    { label: '决定', value: '李伟 批准，2026-11-30 18:02 (Asia/Shanghai, UTC+8)' },
  ],
  actions: { kind: 'none' },
});
