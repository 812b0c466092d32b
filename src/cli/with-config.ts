import type { Config } from '../config/config.ts';
import { EXIT_FAULTY_CONFIG, FaultyConfig, readConfig } from './read-config.ts';

/** Runs a command with the checked configuration; a wrong one is printed, every fault of it, and exits with 2. */
export async function withConfig(
  configFile: string,
  run: (config: Config) => Promise<number>,
): Promise<number> {
  let config: Config;
  try {
    config = await readConfig(configFile, (line) => console.error(`warning: ${line}`));
  } catch (error) {
    if (!(error instanceof FaultyConfig)) throw error;
    console.error(error.message);
    return EXIT_FAULTY_CONFIG;
  }
  return run(config);
}
