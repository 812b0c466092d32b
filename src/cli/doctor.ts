import { pino } from 'pino';
import type { Channel } from '../channel/channel.ts';
import { systemClock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import { auditOwnershipWarning, checkAuditOwnership } from '../db/audit-ownership.ts';
import { pendingMigrations } from '../db/migrate.ts';
import { openDatabase } from '../db/open-database.ts';
import type { LocalizedText } from '../locale.ts';
import { CHANNEL_KINDS } from '../main.ts';
import { withConfig } from './with-config.ts';

/** How long a channel may take to tell whether its credentials work. */
const CHANNEL_TIMEOUT_MS = 15_000;

interface Finding {
  readonly ok: boolean;
  readonly text: string;
}

/** `countersign doctor`: the configuration, the database and each channel's credentials, one line each; 0 when all are well. */
export const doctor = ({ configFile }: { readonly configFile: string }): Promise<number> =>
  withConfig(configFile, async (config) => {
    const say = ({ ok, text }: Finding) => console.log(`${ok ? '✓' : '✗'} ${text}`);
    const findings: Finding[] = [];
    const report = (finding: Finding) => {
      findings.push(finding);
      say(finding);
    };
    report({ ok: true, text: TEXTS.config[config.locale] });
    for (const finding of await checkDatabase(config)) report(finding);
    for (const channel of config.channels) {
      for (const finding of await checkChannel(config, channel)) report(finding);
    }
    return findings.every(({ ok }) => ok) ? 0 : 1;
  });

async function checkDatabase(config: Config): Promise<Finding[]> {
  const where = config.database === null ? config.dataDir : 'PostgreSQL';
  try {
    const database = await openDatabase(config, () => {});
    try {
      const pending = await pendingMigrations(database).catch(() => null);
      const state = pending === null || pending.length > 0 ? TEXTS.migrates : TEXTS.migrated;
      const warning =
        pending?.length === 0
          ? auditOwnershipWarning(await checkAuditOwnership(database), config.locale)
          : null;
      return [
        { ok: true, text: `${TEXTS.database[config.locale]} (${where}): ${state[config.locale]}` },
        ...(warning === null ? [] : [{ ok: true, text: warning }]),
      ];
    } finally {
      await database.close();
    }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return [{ ok: false, text: `${TEXTS.database[config.locale]} (${where}): ${message}` }];
  }
}

async function checkChannel(config: Config, entry: Config['channels'][number]): Promise<Finding[]> {
  const kind = CHANNEL_KINDS.find((known) => known.kind === entry.kind);
  const name = `${TEXTS.channel[config.locale]} ${entry.id}`;
  if (!kind) return [{ ok: false, text: `${name}: ${entry.kind}` }];
  const channel: Channel = kind.create({
    id: entry.id,
    settings: entry.settings,
    locale: config.locale,
    clock: systemClock,
    logger: pino({ level: 'silent' }),
  });
  try {
    await channel.start();
    const deadline = Date.now() + CHANNEL_TIMEOUT_MS;
    while (!channel.health().ready && Date.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    const { ready, detail } = channel.health();
    return [{ ok: ready, text: `${name}: ${detail}` }, await checkWayIn(config, channel, name)];
  } catch (error) {
    return [{ ok: false, text: `${name}: ${error instanceof Error ? error.message : String(error)}` }];
  } finally {
    await channel.stop();
  }
}

/** Where taps will come from. A connection is not opened: it would take taps away from a service that runs. */
async function checkWayIn(config: Config, channel: Channel, name: string): Promise<Finding> {
  if (channel.connection) {
    const { ready, detail } = await channel.connection.check(AbortSignal.timeout(CHANNEL_TIMEOUT_MS));
    return { ok: ready, text: `${name}: ${detail}` };
  }
  const base = config.publicUrl ?? `http://${config.listen.host}:${config.listen.port}`;
  const address = `${base.replace(/\/$/, '')}/channels/${channel.id}/callback`;
  return { ok: true, text: `${name}: ${TEXTS.callbacks[config.locale]} ${address}` };
}

const TEXTS = {
  callbacks: { 'zh-CN': '回调地址', 'en-US': 'takes callbacks at' },
  config: { 'zh-CN': '配置正确', 'en-US': 'The configuration is right' },
  database: { 'zh-CN': '数据库', 'en-US': 'Database' },
  migrated: { 'zh-CN': '可用，版本最新', 'en-US': 'answers, up to date' },
  migrates: { 'zh-CN': '可用，启动时会升级', 'en-US': 'answers; migrations run at the next start' },
  channel: { 'zh-CN': '渠道', 'en-US': 'Channel' },
} satisfies Record<string, LocalizedText>;
