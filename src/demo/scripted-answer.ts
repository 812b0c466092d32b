import { z } from 'zod';
import type { Locale } from '../locale.ts';
import { languageOf, type PaymentInstruction, readPaymentInstruction } from './payment-instruction.ts';

/** A message of the Chat Completions format, as far as the script reads it. */
export interface ScriptedMessage {
  readonly role: string;
  readonly content?: string | null | undefined;
  readonly tool_calls?:
    | readonly { readonly id: string; readonly function: { readonly name: string } }[]
    | undefined;
  readonly tool_call_id?: string | undefined;
}

export type ScriptedAnswer =
  | { readonly kind: 'call'; readonly name: string; readonly args: Readonly<Record<string, string>> }
  | { readonly kind: 'text'; readonly text: string };

/**
 * What the scripted model says next, by the conversation alone: read the order where one is named, pay, then tell in
 * words what became of it. It sees what any model sees, and reads the tool's message as a model would.
 */
export function scriptedAnswer(messages: readonly ScriptedMessage[]): ScriptedAnswer {
  const asked = messages.findLast(({ role }) => role === 'user')?.content ?? '';
  const words = WORDS[languageOf(asked)];
  const instruction = readPaymentInstruction(asked);
  if (!instruction) return { kind: 'text', text: words.notUnderstood };
  const observation = observationOf(messages, PAY);
  if (observation !== null) return { kind: 'text', text: words.told(readEnd(observation), instruction) };
  const { order, payee, amount, currency, memo } = instruction;
  if (order !== null && observationOf(messages, READ_ORDER) === null) {
    return { kind: 'call', name: READ_ORDER, args: { order } };
  }
  return { kind: 'call', name: PAY, args: { payee, amount, currency, ...(memo !== null && { memo }) } };
}

const PAY = 'oa__purchase_pay';
const READ_ORDER = 'oa__order_get';

/** The tool message that answers the call of this tool; null before there is one. */
function observationOf(messages: readonly ScriptedMessage[], tool: string): string | null {
  const called = messages
    .flatMap((message) => message.tool_calls ?? [])
    .findLast((call) => call.function.name === tool);
  if (!called) return null;
  return messages.find(({ tool_call_id }) => tool_call_id === called.id)?.content ?? null;
}

const blocked = z.object({
  status: z.literal('blocked'),
  code: z.string(),
  message: z.string(),
  reason: z.string().nullable(),
});
const paid = z.object({ status: z.literal('paid'), payment: z.object({ id: z.string() }) });
const other = z.object({ status: z.string(), message: z.string().optional() });

type End =
  | { readonly kind: 'paid'; readonly payment: string }
  | {
      readonly kind: 'blocked';
      readonly code: string;
      readonly message: string;
      readonly reason: string | null;
    }
  | { readonly kind: 'other'; readonly message: string };

function readEnd(observation: string): End {
  let value: unknown;
  try {
    value = JSON.parse(observation);
  } catch {
    return { kind: 'other', message: observation };
  }
  const payment = paid.safeParse(value);
  if (payment.success) return { kind: 'paid', payment: payment.data.payment.id };
  const stopped = blocked.safeParse(value);
  if (stopped.success) return { ...stopped.data, kind: 'blocked' };
  return { kind: 'other', message: other.safeParse(value).data?.message ?? observation };
}

interface Words {
  readonly notUnderstood: string;
  readonly told: (end: End, instruction: PaymentInstruction) => string;
}

const sum = ({ amount, currency }: PaymentInstruction): string => `${amount} ${currency}`;

const WORDS: Readonly<Record<Locale, Words>> = {
  'en-US': {
    notUnderstood:
      'I only know how to pay. Ask me like this: "Pay Acme Paper 68,000.00 CNY for order PO-1042".',
    told(end, instruction) {
      const { payee } = instruction;
      if (end.kind === 'paid') return `Done: ${payee} was paid ${sum(instruction)} (payment ${end.payment}).`;
      if (end.kind === 'other') return `I cannot say that ${payee} was paid: ${end.message}`;
      switch (end.code) {
        case 'rejected':
          return `Not paid: the payment of ${sum(instruction)} to ${payee} was rejected.${
            end.reason === null ? '' : ` The reason given: "${end.reason}".`
          } I will not try another way.`;
        case 'expired':
          return `Not paid: nobody decided about ${sum(instruction)} to ${payee} in time. Ask me again if it is still wanted.`;
        default:
          return `Not paid (${end.code}): ${end.message}`;
      }
    },
  },
  'zh-CN': {
    notUnderstood: '我只会付款。请这样说：“请向 Acme Paper 支付 68,000.00 CNY，订单 PO-1042”。',
    told(end, instruction) {
      const { payee } = instruction;
      if (end.kind === 'paid')
        return `已完成：向 ${payee} 支付了 ${sum(instruction)}（付款单 ${end.payment}）。`;
      if (end.kind === 'other') return `无法确认是否已向 ${payee} 付款：${end.message}`;
      switch (end.code) {
        case 'rejected':
          return `没有付款：向 ${payee} 支付 ${sum(instruction)} 被拒绝。${
            end.reason === null ? '' : `理由：“${end.reason}”。`
          }我不会换别的办法再试。`;
        case 'expired':
          return `没有付款：向 ${payee} 支付 ${sum(instruction)} 的请求无人及时审批，已过期。如仍需要，请再告诉我。`;
        default:
          return `没有付款（${end.code}）：${end.message}`;
      }
    },
  },
};
