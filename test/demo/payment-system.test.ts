import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type PaymentSystem, startPaymentSystem } from '../../src/demo/payment-system.ts';

const TOKEN = 'token-of-the-payment-system';
const PAYMENT = { payee: 'Acme Paper', amount: '68000.00', currency: 'CNY' };

describe('the payment system of the demo', () => {
  let system: PaymentSystem;
  beforeEach(async () => {
    system = await startPaymentSystem({ token: TOKEN });
  });
  afterEach(() => system.stop());

  const pay = (body: unknown, headers: Record<string, string> = {}) =>
    fetch(`${system.url}/payments`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${TOKEN}`,
        'idempotency-key': 'key-1',
        ...headers,
      },
      body: JSON.stringify(body),
    });

  it('pays once under one key, and answers the same again', async () => {
    const first = await pay(PAYMENT);
    const again = await pay(PAYMENT);
    expect([first.status, again.status]).toEqual([201, 200]);
    expect(await again.json()).toEqual(await first.json());
    expect(system.ledger().payments).toHaveLength(1);
  });

  it('refuses another payment under a used key, and pays it under a new one', async () => {
    await pay(PAYMENT);
    expect((await pay({ ...PAYMENT, amount: '1.00' })).status).toBe(409);
    expect((await pay({ ...PAYMENT, amount: '1.00' }, { 'idempotency-key': 'key-2' })).status).toBe(201);
    expect(system.ledger().totals).toEqual({ CNY: '68001.00' });
  });

  it('adds amounts exactly, however large', async () => {
    for (const [index, amount] of ['999999999999999.99', '0.1', '0.2', '0.01'].entries())
      await pay({ ...PAYMENT, amount }, { 'idempotency-key': `key-${index}` });
    const response = await fetch(`${system.url}/ledger`, { headers: { authorization: `Bearer ${TOKEN}` } });
    expect(await response.json()).toMatchObject({ totals: { CNY: '1000000000000000.30' } });
  });

  it.each([
    ['an amount that is a number', { ...PAYMENT, amount: 68000 }, 422],
    ['an amount with three decimals', { ...PAYMENT, amount: '1.001' }, 422],
    ['nothing to pay', { ...PAYMENT, amount: '0.00' }, 422],
    ['a key that nobody knows', { ...PAYMENT, note: 'x' }, 422],
  ])('refuses %s', async (_what, body, status) => {
    expect((await pay(body)).status).toBe(status);
    expect(system.ledger().payments).toEqual([]);
  });

  it('pays nothing without its token or without an idempotency key', async () => {
    expect((await pay(PAYMENT, { authorization: 'Bearer of nothing' })).status).toBe(401);
    const response = await fetch(`${system.url}/payments`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${TOKEN}` },
      body: JSON.stringify(PAYMENT),
    });
    expect(response.status).toBe(400);
    expect(system.ledger().payments).toEqual([]);
  });
});
