import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newPostgresDatabase } from '../support/databases.ts';
import { until } from '../support/until.ts';
import { ask, type ConfirmationJson, call, PAYMENT, read } from './api.ts';
import { KEYS, type Platforms, startPlatforms, yamlFor } from './platforms.ts';
import { type ServiceProcess, startServiceProcess } from './service-process.ts';

describe('two services on one PostgreSQL', () => {
  let platforms: Platforms;
  let dataDir: string;
  let databaseUrl: string;
  let first: ServiceProcess;
  let second: ServiceProcess;

  beforeAll(async () => {
    platforms = await startPlatforms();
    dataDir = await mkdtemp(join(tmpdir(), 'countersign-data-'));
    databaseUrl = await newPostgresDatabase();
    [first, second] = await Promise.all([start(), start()]);
    platforms.serviceUrl = second.url;
  });
  afterAll(async () => {
    await Promise.all([first?.stop(), second?.stop()]);
    await platforms?.stop();
    await rm(dataDir, { recursive: true, force: true });
  });

  const start = () => startServiceProcess(yamlFor({ platforms, databaseUrl, dataDir }));

  /** The message of a request in a chat, once it is there. */
  const slackCard = (id: string) =>
    until(() => platforms.slack.messages().find((message) => JSON.stringify(message.blocks).includes(id)), {
      what: 'a card in Slack',
    });
  const feishuCard = (id: string) =>
    until(() => platforms.feishu.messages().find((message) => JSON.stringify(message.card).includes(id)), {
      what: 'a card in Feishu',
    });
  const delivered = (base: string, id: string) =>
    until(
      async () => (await read(base, id)).deliveries.every((delivery) => delivery.state === 'sent') || null,
      { what: 'both cards sent' },
    );

  it('decide through one what was asked through the other, and wake its waiter in milliseconds', async () => {
    const asked = await ask(first.url);
    const { ts } = await slackCard(asked.id);
    await delivered(first.url, asked.id);
    const waiting = call<ConfirmationJson>(first.url, 'GET', `/v1/confirmations/${asked.id}?wait=30s`).then(
      ({ body }) => ({ body, at: performance.now() }),
    );
    await new Promise((resolve) => setTimeout(resolve, 200));
    const tapped = await platforms.slack.tap({ user: 'U0LIWEI', ts, actionId: 'countersign.approve' });
    expect(tapped.status).toBe(200);
    const answeredAt = performance.now();
    const resumed = await waiting;
    expect(resumed.body.status).toBe('approved');
    // The shared poll alone could take 1,500 ms.
    expect(resumed.at - answeredAt).toBeLessThan(1_000);

    const claimed = await call<{ claimed: boolean }>(
      first.url,
      'POST',
      `/v1/confirmations/${asked.id}/claim`,
      {
        body: { args: PAYMENT },
      },
    );
    expect(claimed).toMatchObject({ status: 200, body: { claimed: true } });
    const again = await call<{ code: string }>(second.url, 'POST', `/v1/confirmations/${asked.id}/claim`, {
      body: { args: PAYMENT },
    });
    expect(again).toMatchObject({ status: 409, body: { code: 'already_claimed' } });
    await call(second.url, 'POST', `/v1/confirmations/${asked.id}/outcome`, {
      body: { status: 'succeeded' },
    });
    // Both cards reach their last state and have no buttons.
    await until(
      async () => !JSON.stringify((await slackCard(asked.id)).blocks).includes('countersign.approve'),
    );
    await until(async () => !JSON.stringify((await feishuCard(asked.id)).card).includes('"callback"'));
  });

  it('keep a decision that was answered, whatever happens to the process right after', async () => {
    for (let round = 0; round < 3; round += 1) {
      const victim = await start();
      platforms.serviceUrl = victim.url;
      const asked = await ask(victim.url);
      const { messageId } = await feishuCard(asked.id);
      const tapped = await platforms.feishu.tap({
        openId: 'ou_wang',
        messageId,
        element: (button) => JSON.stringify(button).includes('approve'),
      });
      expect(tapped).toMatchObject({ kind: 'toast' });
      await victim.kill();

      const successor = await start();
      const kept = await read(successor.url, asked.id);
      expect(kept).toMatchObject({ status: 'approved', execution: { status: 'unclaimed' } });
      expect(kept.votes?.map((vote) => vote.person.id)).toEqual(['wang.fang']);
      await until(async () => !JSON.stringify((await feishuCard(asked.id)).card).includes('"callback"'), {
        // At most the lease of the process that was killed while it wrote the card.
        deadlineMs: 30_000,
        what: 'the card in its final state',
      });
      await until(
        async () =>
          (await call<{ ok: boolean }>(successor.url, 'GET', '/v1/audit/verify', { key: KEYS.auditor })).body
            .ok,
      );
      expect(await successor.stop()).toBe(0);
    }
    platforms.serviceUrl = second.url;
  }, 180_000);

  it('expire what nobody decides, and tell a late tap so', async () => {
    const asked = await ask(first.url, 'bank__short');
    const { ts } = await slackCard(asked.id);
    await until(async () => (await read(second.url, asked.id)).status === 'expired', { deadlineMs: 6_000 });
    await platforms.slack.tap({ user: 'U0LIWEI', ts, actionId: 'countersign.approve' });
    await until(() => platforms.slack.ephemeralsOf('U0LIWEI').length > 0, { what: 'an ephemeral' });
    expect((await read(first.url, asked.id)).status).toBe('expired');
  });

  it('log no secret', () => {
    for (const secret of [
      'xoxb-standin',
      'slack-signing-secret',
      'feishu-app-secret',
      KEYS.agent,
      KEYS.liWei,
    ]) {
      expect(first.log() + second.log()).not.toContain(secret);
    }
  });
});
