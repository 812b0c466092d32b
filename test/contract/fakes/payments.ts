import { type Heard, type Loopback, loopback, type Reply } from './loopback.ts';

/** A payment server with a ledger by `Idempotency-Key`; `next` scripts how coming calls are answered. */
export class FakePayments {
  readonly heard: Heard[] = [];
  readonly ledger = new Map<string, unknown>();
  next: Reply[] = [];
  #loopback: Loopback | undefined;

  async start() {
    this.#loopback = await loopback((heard) => {
      this.heard.push(heard);
      const key = String(heard.headers['idempotency-key'] ?? '');
      const scripted = this.next.shift();
      if (heard.method === 'POST' && (scripted === undefined || scripted === 'hang' || scripted === 'reset'))
        this.ledger.set(key, JSON.parse(heard.body));
      return (
        scripted ?? { json: { receipt: `R-${this.ledger.size}`, query: Object.fromEntries(heard.query) } }
      );
    });
    return this;
  }

  get url() {
    return this.#loopback?.url ?? '';
  }

  async stop() {
    await this.#loopback?.close();
  }
}
