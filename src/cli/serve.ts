import { createLogger } from '../http/logger.ts';
import { secretsOf, startService } from '../main.ts';
import { EXIT_FAULTY_CONFIG, FaultyConfig, readConfig } from './read-config.ts';

/** `countersign serve`: runs until SIGTERM or SIGINT, then drains. Returns the exit code. */
export async function serve({ configFile }: { readonly configFile: string }): Promise<number> {
  const warnings: string[] = [];
  let config: Awaited<ReturnType<typeof readConfig>>;
  try {
    config = await readConfig(configFile, (line) => warnings.push(line));
  } catch (error) {
    if (!(error instanceof FaultyConfig)) throw error;
    console.error(error.message);
    return EXIT_FAULTY_CONFIG;
  }
  const logger = createLogger({ level: process.env.LOG_LEVEL ?? 'info', secrets: secretsOf(config) });
  for (const warning of warnings) logger.warn(warning);

  const stopped = new Promise<string>((resolve) => {
    process.once('SIGTERM', () => resolve('SIGTERM'));
    process.once('SIGINT', () => resolve('SIGINT'));
  });
  // Nothing is known of the state after this; leases and rows let another process go on.
  process.on('unhandledRejection', (error) => {
    logger.fatal({ err: error }, 'a promise was rejected and nobody handled it');
    process.exit(1);
  });

  try {
    const service = await startService({ config, logger });
    logger.info({ url: service.url }, 'listening');
    const signal = await stopped;
    logger.info({ signal }, 'stopping');
    await service.stop();
    logger.info('stopped');
    return 0;
  } catch (error) {
    logger.fatal({ err: error }, 'the service could not go on');
    return 1;
  }
}
