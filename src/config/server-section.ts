import { isIP } from 'node:net';
import { z } from 'zod';
import { LOCALES } from '../locale.ts';
import { duration } from './duration.ts';
import { glob, httpUrl, integer, text } from './settings.ts';

/** 0: any free port. */
const port = integer(0, 65_535);
const listenAddress = z.strictObject({ host: text.default('127.0.0.1'), port: port.default(8787) });

/** An empty text means the same as no key: the embedded database. */
const databaseUrl = z
  .string()
  .refine(
    (value) => value === '' || (/^postgres(ql)?:\/\//.test(value) && URL.canParse(value)),
    'has to be a postgres:// address; leave it out for the embedded database',
  )
  .transform((value) => (value === '' ? null : value));

/** Names of the tz database; offsets like `+08:00` are not names, and know no summer time. */
const timeZone = z
  .string()
  .refine(isTimeZone, 'has to be a time zone of the IANA database, like Asia/Shanghai');

const proxyAddress = z
  .string()
  .refine(isNetwork, 'has to be an IP address, or a network like 10.0.0.0/8 that is not the whole internet');

/** The top level of the file: what is not a list of things, and the names of the lists. */
export const serverSection = z.strictObject({
  organization: text.max(100),
  listen: listenAddress.prefault({}),
  operations: listenAddress.extend({ port }).nullable().default(null),
  publicUrl: httpUrl.nullable().default(null),
  database: databaseUrl.nullable().default(null),
  migrationDatabase: databaseUrl.nullable().default(null),
  dataDir: text.default('.countersign'),
  locale: z.enum(LOCALES).default('en-US'),
  timeZone: timeZone.default('UTC'),
  trustProxy: z.array(proxyAddress).default([]),
  parkAfter: duration('30d').default(120_000),
  resumeAtOnce: z.int().min(1).max(10_000).default(50),
  externalTools: z.array(glob).default([]),
  masked: z.array(text.max(200)).default([]),
  // Each entry of these is checked by itself, so that one fault hides no other.
  apiKeys: z.array(z.unknown()).default([]),
  people: z.array(z.unknown()).default([]),
  channels: z.array(z.unknown()).default([]),
  policies: z.array(z.unknown()).default([]),
  defaultPolicy: z.unknown().optional(),
  floor: z.unknown().optional(),
  models: z.record(z.string(), z.unknown()).default({}),
  connectors: z.array(z.unknown()).default([]),
  agents: z.array(z.unknown()).default([]),
});

export type ServerSection = z.infer<typeof serverSection>;

function isTimeZone(value: string): boolean {
  if (!/^[A-Za-z]/.test(value)) return false;
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: value });
    return true;
  } catch {
    return false;
  }
}

function isNetwork(value: string): boolean {
  const [address = '', prefix, ...rest] = value.split('/');
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return false;
  if (prefix === undefined) return true;
  const length = /^\d{1,3}$/.test(prefix) ? Number(prefix) : 0;
  return length >= 1 && length <= (version === 4 ? 32 : 128);
}
