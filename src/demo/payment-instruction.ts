import type { Locale } from '../locale.ts';

/** What a person asked the agent for, as far as the scripted model understands it. */
export interface PaymentInstruction {
  readonly payee: string;
  /** Without separators: `68000.00`. */
  readonly amount: string;
  readonly currency: string;
  readonly memo: string | null;
  /** `PO-1042`, where one is named. */
  readonly order: string | null;
}

const AMOUNT = /(?<amount>\d[\d,]*(?:\.\d+)?)\s*(?<currency>[A-Z]{3}|元)/;
const ENGLISH = new RegExp(`^\\s*pay\\s+(?<payee>.+?)\\s+${AMOUNT.source}(?<rest>.*)$`, 'isu');
const CHINESE = new RegExp(
  `^\\s*(?:请)?(?:向|给)\\s*(?<payee>.+?)\\s*(?:支付|付款|付)\\s*${AMOUNT.source}(?<rest>.*)$`,
  'su',
);

/**
 * Reads "Pay Acme Paper 68,000.00 CNY for order PO-1042" or "请向 Acme Paper 支付 68,000.00 CNY，订单 PO-1042". What
 * follows the amount is the memo, word for word. Null for anything else.
 */
export function readPaymentInstruction(text: string): PaymentInstruction | null {
  const found = (ENGLISH.exec(text) ?? CHINESE.exec(text))?.groups;
  if (!found?.payee || !found.amount || !found.currency) return null;
  const memo = (found.rest ?? '').replace(/^[\s,，。;；:：.]+/u, '').trim();
  return {
    payee: found.payee,
    amount: twoDecimals(found.amount.replaceAll(',', '')),
    currency: found.currency === '元' ? 'CNY' : found.currency.toUpperCase(),
    memo: memo === '' ? null : memo,
    order: /\bPO-\d{1,9}\b/.exec(text)?.[0] ?? null,
  };
}

export const languageOf = (text: string): Locale => (/\p{Script=Han}/u.test(text) ? 'zh-CN' : 'en-US');

const twoDecimals = (amount: string): string => {
  const [whole = '0', fraction = ''] = amount.split('.');
  return `${whole}.${fraction.padEnd(2, '0')}`;
};
