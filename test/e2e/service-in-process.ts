import { pino } from 'pino';
import { loadConfig } from '../../src/config/load-config.ts';
import { CHANNEL_KINDS, HOOK_KINDS, type RunningService, startService } from '../../src/main.ts';

/** The whole service under a configuration file's text, in this process: starts in a second, and dies with the test. */
export async function startServiceInProcess(yaml: string): Promise<RunningService> {
  const loaded = loadConfig({
    text: yaml,
    fileName: 'countersign.yaml',
    environment: {},
    channelKinds: CHANNEL_KINDS,
    hookKinds: HOOK_KINDS,
  });
  if (loaded.kind === 'faulty') throw new Error(JSON.stringify(loaded.faults));
  return startService({ config: loaded.config, logger: pino({ level: 'silent' }) });
}
