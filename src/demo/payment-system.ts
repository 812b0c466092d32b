import type { AddressInfo } from 'node:net';
import { Decimal } from 'decimal.js';
import Fastify from 'fastify';
import { z } from 'zod';

export interface Payment {
  readonly id: string;
  readonly at: string;
  readonly payee: string;
  /** Exact, as text: `68000.00`. */
  readonly amount: string;
  readonly currency: string;
  readonly memo: string | null;
}

export interface Ledger {
  /** Oldest first. */
  readonly payments: readonly Payment[];
  /** Exact sums by currency. */
  readonly totals: Readonly<Record<string, string>>;
}

export interface PaymentSystem {
  readonly url: string;
  ledger(): Ledger;
  /** The next payment is made, and its answer is lost: 502. */
  loseNextAnswer(): void;
  /** Called after each payment; the returned function ends it. */
  onPayment(listener: () => void): () => void;
  stop(): Promise<void>;
}

/** Wide enough that no sum of amounts is ever rounded. */
const Exact = Decimal.clone({ precision: 60 });

const paymentBody = z.strictObject({
  payee: z.string().min(1).max(200),
  amount: z
    .string()
    .regex(/^\d{1,15}(\.\d{1,2})?$/, 'has to be a decimal number as text, with at most two decimals')
    .refine((amount) => !new Exact(amount).isZero(), 'has to be more than nothing'),
  currency: z.string().regex(/^[A-Z]{3}$/, 'has to be three capital letters'),
  memo: z.string().max(1000).optional(),
});

/**
 * What the demo's agent pays through, over HTTP on loopback. `POST /payments` needs an `Idempotency-Key`: the same key
 * pays once and is answered the same again, with another body it is refused (409). `GET /ledger` shows what was paid,
 * `GET /orders?order=` a purchase order. Everything needs the bearer token.
 */
export async function startPaymentSystem({ token }: { readonly token: string }): Promise<PaymentSystem> {
  const payments: Payment[] = [];
  const byKey = new Map<string, { readonly body: string; readonly payment: Payment }>();
  const listeners = new Set<() => void>();
  let answerIsLost = false;
  const app = Fastify({ forceCloseConnections: true });

  app.addHook('onRequest', async (request, reply) => {
    if (request.headers.authorization !== `Bearer ${token}`) {
      await reply.code(401).send({ error: 'A bearer token is needed.' });
    }
  });

  app.post('/payments', async (request, reply) => {
    const key = request.headers['idempotency-key'];
    if (typeof key !== 'string') return reply.code(400).send({ error: 'Send an Idempotency-Key.' });
    const parsed = paymentBody.safeParse(request.body);
    if (!parsed.success) return reply.code(422).send({ error: z.prettifyError(parsed.error) });
    const body = JSON.stringify(parsed.data);
    const earlier = byKey.get(key);
    if (earlier) {
      if (earlier.body !== body) return reply.code(409).send({ error: 'This key paid something else.' });
      return reply.send({ status: 'paid', payment: earlier.payment });
    }
    const { payee, currency, memo } = parsed.data;
    const payment: Payment = {
      id: `PAY-${String(payments.length + 1).padStart(4, '0')}`,
      at: new Date().toISOString(),
      payee,
      amount: new Exact(parsed.data.amount).toFixed(2),
      currency,
      memo: memo ?? null,
    };
    payments.push(payment);
    byKey.set(key, { body, payment });
    for (const listener of listeners) listener();
    if (answerIsLost) {
      answerIsLost = false;
      return reply.code(502).send({ error: 'Nobody knows what became of it.' });
    }
    return reply.code(201).send({ status: 'paid', payment });
  });

  const ledger = (): Ledger => ({ payments: [...payments], totals: totalsOf(payments) });
  app.get('/ledger', async () => ledger());

  app.get<{ Querystring: { readonly order?: string } }>('/orders', async (request, reply) => {
    const { order } = request.query;
    if (typeof order !== 'string' || !/^PO-\d{1,9}$/.test(order)) {
      return reply.code(404).send({ error: 'There is no such order.' });
    }
    return { order, status: 'goods received', invoice: 'checked' };
  });

  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    ledger,
    loseNextAnswer() {
      answerIsLost = true;
    },
    onPayment(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    stop: () => app.close(),
  };
}

function totalsOf(payments: readonly Payment[]): Record<string, string> {
  const sums = new Map<string, Decimal>();
  for (const { amount, currency } of payments) {
    sums.set(currency, (sums.get(currency) ?? new Exact(0)).plus(amount));
  }
  return Object.fromEntries([...sums].map(([currency, sum]) => [currency, sum.toFixed(2)]));
}
