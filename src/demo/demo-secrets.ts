import { randomBytes } from 'node:crypto';
import { CAST } from './cast.ts';

/** Every key and secret of one demo, new each time, under the name by which the configuration refers to it. */
export type DemoSecrets = Readonly<Record<SecretName, string>> & {
  /** By person's id: signs in to the page of a request. */
  readonly consoleKeys: ReadonlyMap<string, string>;
};

const NAMES = [
  'PROCUREMENT_KEY',
  'AUDIT_KEY',
  'FEISHU_APP_SECRET',
  'FEISHU_ENCRYPT_KEY',
  'FEISHU_VERIFICATION_TOKEN',
  'SLACK_BOT_TOKEN',
  'SLACK_SIGNING_SECRET',
  'OA_TOKEN',
] as const;
type SecretName = (typeof NAMES)[number];

export function createDemoSecrets(): DemoSecrets {
  const values = Object.fromEntries(NAMES.map((name) => [name, newSecret()])) as Record<SecretName, string>;
  const consoleKeys = new Map(CAST.map(({ id }) => [id, `${id}-${newSecret()}`]));
  return { ...values, consoleKeys };
}

/** The environment from which the configuration takes its secrets. */
export function environmentOf(secrets: DemoSecrets): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const name of NAMES) environment[name] = secrets[name];
  for (const [id, key] of secrets.consoleKeys) environment[consoleKeyName(id)] = key;
  return environment;
}

/** `li.wei` → `LI_WEI_KEY`. */
export const consoleKeyName = (id: string): string => `${id.toUpperCase().replace('.', '_')}_KEY`;

const newSecret = (): string => randomBytes(16).toString('hex');
