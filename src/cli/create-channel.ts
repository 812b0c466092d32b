import type { Logger } from 'pino';
import type { Channel } from '../channel/channel.ts';
import { systemClock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import { CHANNEL_KINDS } from '../main.ts';

/** A channel of the configuration for a command's own use, not started. */
export function createChannel(config: Config, entry: Config['channels'][number], logger: Logger): Channel {
  const kind = CHANNEL_KINDS.find((known) => known.kind === entry.kind);
  if (!kind) throw new Error(`No channel of kind ${entry.kind} is built in`);
  const { id, settings } = entry;
  return kind.create({ id, settings, locale: config.locale, clock: systemClock, logger });
}
