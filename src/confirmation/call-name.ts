import { cutText } from '../channel/cut-text.ts';
import { visibleText } from '../channel/visible-text.ts';
import type { JsonObject } from '../json.ts';
import { argumentText } from './argument-text.ts';
import type { ConfirmationRequest } from './confirmation-request.ts';
import { valueAt } from './json-pointer.ts';

export interface CallName {
  readonly tool: string;
  /** With its currency, where both are plainly that; null where it is not plainly an amount. */
  readonly amount: string | null;
}

const LONGEST_TOOL = 60;
const PLAIN_AMOUNT = /^-?\d[\d.,]{0,23}$/;
const PLAIN_CURRENCY = /^[A-Z]{3,5}$/;

/**
 * What a call is called where there is one line for it. `args` are its arguments as they may be shown. Payees and other
 * free text stay out of it: they could be made to read like a state.
 */
export function callName(request: ConfirmationRequest, args: JsonObject): CallName {
  const amount = plainDecisive(request, args, 'amount', PLAIN_AMOUNT);
  const currency = plainDecisive(request, args, 'currency', PLAIN_CURRENCY);
  const tool = cutText(visibleText(request.tool).text, LONGEST_TOOL);
  return {
    tool: tool.missing > 0 ? `${tool.text}…` : tool.text,
    amount: amount === null ? null : [grouped(amount), currency].filter(Boolean).join(' '),
  };
}

function plainDecisive(
  request: ConfirmationRequest,
  args: JsonObject,
  role: 'amount' | 'currency',
  plain: RegExp,
): string | null {
  const field = request.decisiveFields.find((candidate) => candidate.role === role);
  const value = field && valueAt(args, field.pointer);
  if (value === undefined || value === null || typeof value === 'object') return null;
  const text = argumentText(value);
  return plain.test(text) ? text : null;
}

/** Digits in threes, as both languages write them; never through a number. What has separators already stays. */
function grouped(amount: string): string {
  const [, sign, whole = '', fraction = ''] = /^(-?)(\d+)(\.\d+)?$/.exec(amount) ?? [];
  return sign === undefined ? amount : `${sign}${whole.replace(/\B(?=(?:\d{3})+$)/g, ',')}${fraction}`;
}
