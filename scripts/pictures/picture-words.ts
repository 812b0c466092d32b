import type { Locale } from '../../src/locale.ts';

/** What is asked for on the pictures, and what people write. */
export interface PictureWords {
  readonly args: Readonly<Record<'amount' | 'currency' | 'payee' | 'memo', string>>;
  /** The agent's own words. */
  readonly summary: string;
  /** What the demo's agent is asked for the card that runs by itself. */
  readonly instruction: string;
  readonly approvedBecause: string;
  readonly rejectedBecause: string;
  /** Where somebody looked who says what became of a call, and what they found there. */
  readonly found: string;
  readonly runAgainBecause: string;
  readonly failedBecause: string;
  readonly frozenBecause: string;
}

export const PICTURE_WORDS: Readonly<Record<Locale, PictureWords>> = {
  'zh-CN': {
    args: {
      amount: '68000.00',
      currency: 'CNY',
      payee: '上海精工机械有限公司',
      memo: 'PO-2026-1187 设备尾款',
    },
    summary: '按合同支付设备尾款，供应商今天催了两次。',
    instruction: '请向 上海精工机械有限公司 支付 68,000.00 CNY，订单 PO-1187',
    approvedBecause: '设备已验收，尾款与合同一致',
    found: '网银流水第 4 行：19:48 已付 68,000.00',
    runAgainBecause: '网银里没有这笔付款，供应商也没有收到',
    rejectedBecause: '收款账号与合同不符，请先找供应商核实',
    failedBecause: 'HTTP 422：收款账户已停用',
    frozenBecause: '供应商账户疑似被盗，核实中',
  },
  'en-US': {
    args: {
      amount: '68000.00',
      currency: 'CNY',
      payee: 'Shanghai Precision Machinery Co., Ltd.',
      memo: 'PO-2026-1187, final instalment',
    },
    summary: 'Final instalment under the contract; the supplier has asked for it twice today.',
    instruction: 'Pay Shanghai Precision Machinery 68,000.00 CNY for order PO-1187',
    approvedBecause: 'The machine is accepted, and the amount is that of the contract',
    found: 'Bank statement, line 4: 68,000.00 paid at 19:48',
    runAgainBecause: 'The bank shows no such payment, and the supplier has received none',
    rejectedBecause: 'The account is not the one in the contract; ask the supplier first',
    failedBecause: 'HTTP 422: the payee account is closed',
    frozenBecause: 'The supplier account may be stolen; we are checking',
  },
};
