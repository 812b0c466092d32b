import { readFile } from 'node:fs/promises';
import { formatFault } from '../config/config-fault.ts';
import { lintConfig } from '../config/lint-config.ts';
import { CHANNEL_KINDS, HOOK_KINDS } from '../main.ts';
import { EXIT_FAULTY_CONFIG, FaultyConfig, unreadable } from './read-config.ts';

/**
 * `countersign policy lint`: rules that do nothing, or not what they seem to, one line each. 0 where there are none, 1
 * where there are, 2 where the configuration is wrong, every fault of it listed.
 */
export async function policyLint({ configFile }: { readonly configFile: string }): Promise<number> {
  let text: string;
  try {
    text = await readFile(configFile, 'utf8');
  } catch (error) {
    console.error(unreadable(configFile, error).message);
    return EXIT_FAULTY_CONFIG;
  }
  const linted = lintConfig({
    text,
    fileName: configFile,
    environment: process.env,
    channelKinds: CHANNEL_KINDS,
    hookKinds: HOOK_KINDS,
  });
  if (linted.kind === 'faulty') {
    console.error(new FaultyConfig(configFile, linted.faults).message);
    return EXIT_FAULTY_CONFIG;
  }
  for (const warning of linted.warnings) console.error(`warning: ${formatFault(configFile, warning)}`);
  for (const finding of linted.findings) console.log(formatFault(configFile, finding));
  const { length } = linted.findings;
  console.log(length === 0 ? 'Nothing to mend.' : length === 1 ? '1 finding.' : `${length} findings.`);
  return length === 0 ? 0 : 1;
}
