import { describe, expect, it } from 'vitest';
import { readPaymentInstruction } from '../../src/demo/payment-instruction.ts';
import { type ScriptedMessage, scriptedAnswer } from '../../src/demo/scripted-answer.ts';

describe('the scripted model', () => {
  it.each([
    [
      'Pay Acme Paper 68,000.00 CNY for order PO-1042',
      {
        payee: 'Acme Paper',
        amount: '68000.00',
        currency: 'CNY',
        memo: 'for order PO-1042',
        order: 'PO-1042',
      },
    ],
    [
      '请向 上海精工机械有限公司 支付 68,000 元，订单 PO-1042',
      {
        payee: '上海精工机械有限公司',
        amount: '68000.00',
        currency: 'CNY',
        memo: '订单 PO-1042',
        order: 'PO-1042',
      },
    ],
    [
      'pay 7 Stars Ltd 12.5 usd',
      { payee: '7 Stars Ltd', amount: '12.50', currency: 'USD', memo: null, order: null },
    ],
  ])('reads "%s"', (text, instruction) => {
    expect(readPaymentInstruction(text)).toEqual(instruction);
  });

  it.each(['', 'Hello', 'Pay me', 'Pay Acme Paper soon'])('does not take "%s" for a payment', (text) => {
    expect(readPaymentInstruction(text)).toBeNull();
    expect(scriptedAnswer([user(text)])).toMatchObject({ kind: 'text' });
  });

  it('reads the order first, then pays, then tells what the tool said', () => {
    const asked = user('Pay Acme Paper 68,000.00 CNY for order PO-1042');
    expect(scriptedAnswer([asked])).toEqual({
      kind: 'call',
      name: 'oa__order_get',
      args: { order: 'PO-1042' },
    });
    const looked = [asked, ...called('oa__order_get', '{"status":"goods received"}')];
    expect(scriptedAnswer(looked)).toEqual({
      kind: 'call',
      name: 'oa__purchase_pay',
      args: { payee: 'Acme Paper', amount: '68000.00', currency: 'CNY', memo: 'for order PO-1042' },
    });
    const paid = [...looked, ...called('oa__purchase_pay', '{"status":"paid","payment":{"id":"PAY-0007"}}')];
    expect(scriptedAnswer(paid)).toMatchObject({ kind: 'text', text: expect.stringContaining('PAY-0007') });
  });

  it.each([
    ['{"status":"blocked","code":"rejected","message":"m","reason":"too much"}', '"too much"'],
    ['{"status":"blocked","code":"expired","message":"m","reason":null}', 'nobody decided'],
    [
      '{"status":"blocked","code":"policy_error","message":"another currency","reason":null}',
      'another currency',
    ],
    ['{"status":"unknown","message":"it may have run"}', 'it may have run'],
    ['not JSON at all', 'not JSON at all'],
  ])('never says that it paid after %s', (observation, told) => {
    const answer = scriptedAnswer([user('Pay Acme 9 CNY'), ...called('oa__purchase_pay', observation)]);
    expect(answer).toMatchObject({ kind: 'text', text: expect.stringContaining(told) });
    expect(answer).not.toMatchObject({ text: expect.stringContaining('was paid 9.00') });
  });
});

const user = (content: string): ScriptedMessage => ({ role: 'user', content });
const called = (name: string, content: string): ScriptedMessage[] => [
  { role: 'assistant', content: null, tool_calls: [{ id: `call-${name}`, function: { name } }] },
  { role: 'tool', tool_call_id: `call-${name}`, content },
];
