import { pino } from 'pino';
import type { Channel } from '../channel/channel.ts';
import { type ChannelFinding, failed, passed, verbatim } from '../channel/diagnosis.ts';
import type { Config } from '../config/config.ts';
import { auditOwnershipWarning, checkAuditOwnership } from '../db/audit-ownership.ts';
import { pendingMigrations } from '../db/migrate.ts';
import { openDatabase } from '../db/open-database.ts';
import type { Locale, LocalizedText } from '../locale.ts';
import { createChannel } from './create-channel.ts';
import { faultMessage } from './fault-message.ts';
import { sendTrialCard } from './send-trial-card.ts';
import { withConfig } from './with-config.ts';

/** How long the check of one channel may take. */
const CHANNEL_TIMEOUT_MS = 60_000;

/**
 * `countersign doctor`: the configuration, the database, and each channel step by step, a line each and what to do
 * about it below; 0 when nothing failed. `send` also posts a card into each chat and changes it.
 */
export const doctor = ({
  configFile,
  send = false,
}: {
  readonly configFile: string;
  readonly send?: boolean;
}): Promise<number> =>
  withConfig(configFile, async (config) => {
    let healthy = true;
    const report = ({ state, text, advice }: ChannelFinding, about = '') => {
      healthy &&= state !== 'failed';
      console.log(`${MARKS[state]} ${about}${text[config.locale]}`);
      if (advice) console.log(`  → ${advice[config.locale]}`);
    };
    report(passed(TEXTS.config));
    for (const finding of await checkDatabase(config)) report(finding);
    for (const entry of config.channels) {
      const about = `${TEXTS.channel[config.locale]} ${entry.id}: `;
      for await (const finding of checkChannel(config, entry, send)) report(finding, about);
    }
    return healthy ? 0 : 1;
  });

const MARKS = { ok: '✓', failed: '✗', skipped: '–' } as const;

async function checkDatabase(config: Config): Promise<ChannelFinding[]> {
  const where = config.database === null ? config.dataDir : 'PostgreSQL';
  const named = (state: LocalizedText) =>
    both((locale) => `${TEXTS.database[locale]} (${where}): ${state[locale]}`);
  try {
    const database = await openDatabase(config, () => {});
    try {
      const pending = await pendingMigrations(database).catch(() => null);
      const migrated = pending !== null && pending.length === 0;
      const ownership = migrated ? await checkAuditOwnership(database) : null;
      const warning = ownership && auditOwnershipWarning(ownership, config.locale);
      return [
        passed(named(migrated ? TEXTS.migrated : TEXTS.migrates)),
        ...(warning ? [passed(verbatim(warning))] : []),
      ];
    } finally {
      await database.close();
    }
  } catch (error) {
    return [failed(named(verbatim(faultMessage(error))), TEXTS.databaseAdvice)];
  }
}

/** Opens no connection to a chat: it would take taps away from a service that runs. */
async function* checkChannel(
  config: Config,
  entry: Config['channels'][number],
  send: boolean,
): AsyncIterable<ChannelFinding> {
  const channel = createChannel(config, entry, pino({ level: 'silent' }));
  const signal = AbortSignal.timeout(CHANNEL_TIMEOUT_MS);
  try {
    yield* channel.diagnose?.({
      callbackUrl: callbackUrlOf(config, channel),
      needs: needsOf(config, channel),
      signal,
    }) ?? [];
    if (send) yield* sendTrialCard({ channel, config, signal });
  } catch (error) {
    yield failed(verbatim(faultMessage(error)), null);
  } finally {
    await channel.stop();
  }
}

function callbackUrlOf({ publicUrl, listen }: Config, { id }: Channel): string {
  const base = publicUrl ?? `http://${listen.host}:${listen.port}`;
  return `${base.replace(/\/$/, '')}/channels/${id}/callback`;
}

function needsOf(config: Config, { id, kind, address }: Channel) {
  const rules = [...config.policies, config.defaultPolicy, config.floor];
  const identities = config.people.flatMap((person) => person.identities);
  return {
    direct: rules.some((rule) => rule?.channels.includes(id) && rule.notify !== 'group'),
    directory: identities.some(
      ({ provider, tenant, ids }) =>
        (provider === address.provider || provider === kind) && tenant === address.tenant && 'email' in ids,
    ),
  };
}

const both = (textIn: (locale: Locale) => string): LocalizedText => ({
  'zh-CN': textIn('zh-CN'),
  'en-US': textIn('en-US'),
});

const TEXTS = {
  config: { 'zh-CN': '配置正确', 'en-US': 'The configuration is right' },
  database: { 'zh-CN': '数据库', 'en-US': 'Database' },
  databaseAdvice: {
    'zh-CN': '检查 database（DATABASE_URL）或 dataDir；内嵌数据库被正在运行的服务占用时，先停止服务。',
    'en-US':
      'Check `database` (DATABASE_URL) or `dataDir`; where a running service holds the embedded database, stop it first.',
  },
  migrated: { 'zh-CN': '可用，版本最新', 'en-US': 'answers, up to date' },
  migrates: { 'zh-CN': '可用，启动时会升级', 'en-US': 'answers; migrations run at the next start' },
  channel: { 'zh-CN': '渠道', 'en-US': 'Channel' },
} satisfies Record<string, LocalizedText>;
