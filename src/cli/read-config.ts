import { readFile } from 'node:fs/promises';
import type { Config } from '../config/config.ts';
import { type ConfigFault, formatFault } from '../config/config-fault.ts';
import { loadConfig } from '../config/load-config.ts';
import { CHANNEL_KINDS, HOOK_KINDS } from '../main.ts';

/** A configuration that cannot be used; the command prints every fault and exits with 2. */
export class FaultyConfig extends Error {
  readonly faults: readonly ConfigFault[];
  constructor(fileName: string, faults: readonly ConfigFault[]) {
    const lines = faults.map((fault) => `  ${formatFault(fileName, fault)}`);
    const count = faults.length === 1 ? '1 fault' : `${faults.length} faults`;
    super(`The configuration has ${count}; nothing was started.\n${lines.join('\n')}`);
    this.name = 'FaultyConfig';
    this.faults = faults;
  }
}

/** Exit code for a configuration that is wrong. */
export const EXIT_FAULTY_CONFIG = 2;

export function unreadable(fileName: string, error: unknown): FaultyConfig {
  const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
  const message = `the file cannot be read (${code}); name it with --config`;
  return new FaultyConfig(fileName, [{ path: '', line: null, message }]);
}

/** Reads and checks the configuration with the channels and hooks this service is built with. */
export async function readConfig(fileName: string, warn: (line: string) => void): Promise<Config> {
  let text: string;
  try {
    text = await readFile(fileName, 'utf8');
  } catch (error) {
    throw unreadable(fileName, error);
  }
  const loaded = loadConfig({
    text,
    fileName,
    environment: process.env,
    channelKinds: CHANNEL_KINDS,
    hookKinds: HOOK_KINDS,
  });
  if (loaded.kind === 'faulty') throw new FaultyConfig(fileName, loaded.faults);
  for (const warning of loaded.warnings) warn(formatFault(fileName, warning));
  return loaded.config;
}
