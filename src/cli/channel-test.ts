import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import type { Config } from '../config/config.ts';
import { channelId } from '../ids.ts';
import type { Locale } from '../locale.ts';
import { startService } from '../main.ts';
import { CHANNEL_TEST, channelTestConfig } from './channel-test-config.ts';
import { TEST_TEXTS } from './channel-test-texts.ts';
import { createChannel } from './create-channel.ts';
import { withConfig } from './with-config.ts';

/** How long the closed card may take to show that it is closed. */
const UPDATE_TIMEOUT_MS = 20_000;

interface TestedConfirmation {
  readonly id: string;
  readonly status: string;
  readonly createdAt: string;
  readonly decision: { readonly at: string; readonly by: { readonly name: string } | null } | null;
  readonly deliveries: readonly {
    readonly state: string;
    readonly at: string;
    readonly error: string | null;
  }[];
}

/**
 * `countersign channels test <id>`: the whole service with this one channel, on a database of its own that is thrown
 * away afterwards, asks about a call that nothing runs; everybody with an account there may answer. Taps have to
 * arrive at the configured address, so the service itself must not be running. 0 when a tap came back.
 */
export const channelTest = (input: {
  readonly configFile: string;
  readonly channel: string;
  readonly timeoutMs: number;
  /** Closes the card and ends. */
  readonly interrupted: AbortSignal;
}): Promise<number> =>
  withConfig(input.configFile, async (config) => {
    const texts = TEST_TEXTS[config.locale];
    const entry = config.channels.find(({ id }) => id === channelId(input.channel));
    if (!entry) {
      console.error(texts.noChannel(input.channel, config.channels.map(({ id }) => id).join(', ')));
      return 1;
    }
    // Before anything else is opened: it is what mostly goes wrong.
    if (!(await isFree(config.listen))) {
      console.error(texts.portTaken(config.listen.port));
      return 1;
    }
    const { address, advise } = createChannel(config, entry, pino({ level: 'silent' }));
    const key = randomBytes(24).toString('base64url');
    const dataDir = await mkdtemp(join(tmpdir(), 'countersign-channel-test-'));
    const testConfig = channelTestConfig({
      config,
      entry,
      address,
      key,
      dataDir,
      timeoutMs: input.timeoutMs,
    });
    try {
      if (testConfig === null) {
        console.error(texts.nobody(input.channel));
        return 1;
      }
      return await playTest({
        ...input,
        key,
        config: testConfig,
        advise: (error) => advise?.(error)?.[config.locale],
      });
    } catch (error) {
      console.error(messageOf(error));
      return 1;
    } finally {
      await rm(dataDir, { recursive: true, force: true });
    }
  });

async function playTest(input: {
  readonly config: Config;
  readonly key: string;
  readonly channel: string;
  readonly timeoutMs: number;
  readonly interrupted: AbortSignal;
  readonly advise: (error: string) => string | undefined;
}): Promise<number> {
  const { config, key, channel, timeoutMs, interrupted } = input;
  const texts = TEST_TEXTS[config.locale as Locale];
  const service = await startService({ config, logger: pino({ level: 'silent' }) });
  const call = async <Answer>(method: string, path: string, body?: unknown): Promise<Answer> => {
    const response = await fetch(`${service.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return (await response.json()) as Answer;
  };
  const read = (id: string, wait = 0) =>
    call<TestedConfirmation>('GET', `/v1/confirmations/${id}?wait=${wait}s`);
  const sayNotSent = ({ status, deliveries }: TestedConfirmation) => {
    const error = deliveries.find((delivery) => delivery.error !== null)?.error ?? status;
    console.error(`${texts.notSent} ${error}`);
    const advice = input.advise(error);
    if (advice) console.error(`  → ${advice}`);
  };
  try {
    const { agent, requester, tool } = CHANNEL_TEST;
    const asked = await call<{ readonly confirmation?: TestedConfirmation }>('POST', '/v1/confirmations', {
      ...{ tool, agent, requester, args: { channel, purpose: texts.purpose }, summary: texts.summary },
    });
    if (!asked.confirmation) throw new Error(JSON.stringify(asked));
    const { id } = asked.confirmation;
    let now = asked.confirmation;
    const deadline = Date.now() + timeoutMs;
    let toldSent = false;
    while (now.status === 'pending' && Date.now() < deadline && !interrupted.aborted) {
      now = await read(id, toldSent ? 2 : 1);
      const sent = now.deliveries.find(({ state }) => state === 'sent');
      if (sent && !toldSent) console.log(texts.sent(msBetween(now.createdAt, sent.at)));
      toldSent ||= sent !== undefined;
    }
    if (now.status === 'pending') {
      await call('POST', `/v1/confirmations/${id}/cancel`);
      if (toldSent) await shown(() => read(id));
      if (interrupted.aborted) console.error(texts.interrupted);
      else if (toldSent) console.error(texts.noTap);
      else sayNotSent(now);
      return 1;
    }
    if (now.decision === null || now.status === 'undeliverable' || now.status === 'expired') {
      sayNotSent(now);
      return 1;
    }
    console.log(texts.tapped(now.status, msBetween(now.createdAt, now.decision.at)));
    const closed = await shown(() => read(id));
    console.log(closed === null ? texts.notUpdated : texts.updated(msBetween(now.decision.at, closed)));
    return closed === null ? 1 : 0;
  } finally {
    await service.stop();
  }
}

/** When the card came to show how it ended; null where it did not in time. */
async function shown(read: () => Promise<TestedConfirmation>): Promise<string | null> {
  const deadline = Date.now() + UPDATE_TIMEOUT_MS;
  while (Date.now() < deadline) {
    const { decision, deliveries } = await read();
    const updated = deliveries.find(
      ({ at }) => decision !== null && Date.parse(at) > Date.parse(decision.at),
    );
    if (updated) return updated.at;
    await sleep(200);
  }
  return null;
}

const isFree = ({ host, port }: Config['listen']): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen({ host, port }, () => probe.close(() => resolve(true)));
  });

const msBetween = (from: string, to: string): number => Math.max(0, Date.parse(to) - Date.parse(from));
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
