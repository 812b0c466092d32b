import { createHash } from 'node:crypto';
import { eq } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { renderCard } from '../../channels/slack/render.ts';
import { cardDigest } from '../../src/channel/card-digest.ts';
import type { DeliveryResult } from '../../src/channel/delivery-outbox.ts';
import { createCardSource } from '../../src/confirmation/create-card-source.ts';
import { createCardRecords } from '../../src/db/card-record-store.ts';
import type { Database } from '../../src/db/database.ts';
import { createDeliveryOutbox } from '../../src/db/delivery-outbox-store.ts';
import { deliveries } from '../../src/db/schema/deliveries.ts';
import type { HttpApp } from '../../src/http/http-app.ts';
import { type ConfirmationId, channelId } from '../../src/ids.ts';
import { type Core, POLICY, person, startCore } from '../support/core.ts';
import { DATABASES } from '../support/databases.ts';
import { createDescriptionCheck } from './described.ts';
import { as, createNeighbours, startApp, UNKNOWN_ID } from './http-fixture.ts';
import { problemOf } from './problem-of.ts';

const SLACK = channelId('pay-slack');

describe.each(DATABASES)('the cards of a request, on $name', ({ open }) => {
  let database: Database;
  let core: Core;
  let app: HttpApp;
  let checkDescribed: ReturnType<typeof createDescriptionCheck>;

  beforeAll(async () => {
    database = await open();
    core = startCore(database);
    app = startApp(createNeighbours(), core.service, { cards: createCardRecords(database) });
    await app.ready();
    checkDescribed = createDescriptionCheck(app);
  });
  afterAll(async () => {
    await app.close();
    core.stop();
    await database.close();
  });

  const read = async (id: string, query = '') => {
    const url = `/v1/confirmations/${id}/cards${query}`;
    const response = await app.inject({ method: 'GET', url, headers: as('audit') });
    checkDescribed('GET', url, response);
    return response;
  };

  /** What the worker does for each card that is due in the chat; the platform's answer is the test's. */
  async function deliver(result: 'sent' | 'updated' | 'uncertain'): Promise<void> {
    const outbox = createDeliveryOutbox(database);
    const cards = createCardSource({
      confirmations: core.service,
      freezes: core.freezes,
      timeZone: 'Asia/Shanghai',
      publicUrl: 'https://gate.acme.example',
    });
    for (const due of await outbox.claim({ channel: SLACK, sends: 9, changes: 9, leaseMs: 30_000 })) {
      const { confirmationId, view } = due;
      const card = await cards.read({ confirmationId, locale: 'zh-CN', view, moved: false });
      if (card === null) throw new Error('no card');
      const rendered = renderCard(card, due.token);
      const digest = cardDigest(rendered);
      await outbox.keepRendered({ due, card, rendered, digest });
      const shown = { version: card.version, digest, hasButtons: card.actions.kind !== 'none' };
      const results: Record<typeof result, DeliveryResult> = {
        sent: { kind: 'sent', messageId: `m-${confirmationId}`, shown },
        updated: { kind: 'updated', shown },
        uncertain: { kind: 'uncertain', error: 'timed_out', retryInMs: 3_600_000 },
      };
      await outbox.record({ due, result: results[result] });
    }
  }
  const reject = (id: ConfirmationId) =>
    core.service.decide({
      id,
      person: person('li.wei'),
      verdict: 'reject',
      reason: '金额不对',
      argsDigest: null,
      surface: { kind: 'api' },
    });

  it('are read as they went out, in order, with digests that anybody can compute from them', async () => {
    const id = await core.pending();
    await deliver('sent');
    await reject(id);
    await deliver('updated');
    const [delivery] = await database.connection
      .select()
      .from(deliveries)
      .where(eq(deliveries.confirmationId, id));
    const { items, nextCursor } = (await read(id)).json();
    expect(nextCursor).toBeNull();
    expect(items).toMatchObject(
      [1, 2].map((version) => ({
        delivery: delivery?.id,
        channel: 'pay-slack',
        person: null,
        messageIds: [`m-${id}`],
        version,
        locale: 'zh-CN',
      })),
    );
    for (const { digest, payload } of items) {
      expect(`sha256:${createHash('sha256').update(Buffer.from(payload, 'utf8')).digest('hex')}`).toBe(
        digest,
      );
    }
    expect(items[0].payload).toContain('68000.00');
    expect(items[0].payload).not.toContain('金额不对');
    expect(items[1].payload).toContain('金额不对');
  });

  it('name no message where the platform never said that it shows them', async () => {
    core.policy = { ...POLICY, notify: 'direct' };
    core.accounts.set('li.wei', [{ provider: 'slack', tenant: 'T0', ids: { user: 'U0LIWEI' } }]);
    const id = await core.pending();
    core.policy = POLICY;
    await deliver('uncertain');
    const { items } = (await read(id)).json();
    expect(items).toMatchObject([{ person: { id: 'li.wei', name: 'li.wei' }, messageIds: [] }]);
  });

  it('come in pages, each card once', async () => {
    core.policy = { ...POLICY, channels: [SLACK, channelId('pay-feishu')] };
    const id = await core.pending();
    core.policy = POLICY;
    await deliver('sent');
    await reject(id);
    await deliver('updated');
    const all = (await read(id)).json().items;
    expect(all.length).toBe(2);
    const first = (await read(id, '?limit=1')).json();
    const second = (await read(id, `?limit=1&cursor=${first.nextCursor}`)).json();
    expect([...first.items, ...second.items]).toEqual(all);
    expect(second.nextCursor).toBeNull();
  });

  it('are none before any went out, and not to be found of a request that is not there', async () => {
    expect((await read(await core.pending())).json()).toEqual({ items: [], nextCursor: null });
    expect((await read(UNKNOWN_ID)).statusCode).toBe(404);
    for (const cursor of ['x', Buffer.from(`${UNKNOWN_ID} 1 sha256:0`).toString('base64url')]) {
      expect(problemOf(await read(await core.pending(), `?cursor=${cursor}`)).code).toBe('invalid_request');
    }
  });
});
