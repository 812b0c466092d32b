import { type DestinationStream, type Logger, pino } from 'pino';
import { loggedFault } from './logged-fault.ts';

/** The one list of what no log line may hold, wherever it is in the logged object. */
export const REDACTED_KEYS = [
  'authorization',
  'cookie',
  'set-cookie',
  'consoleKey',
  'key',
  'apiKey',
  'appSecret',
  'encryptKey',
  'verificationToken',
  'botToken',
  'signingSecret',
  'appToken',
  'password',
  'body',
  'rawBody',
] as const;

const CENSOR = '[redacted]';

/**
 * The logger of the service. Two nets under each other: fields of these names are cut out down to three levels, and
 * any of `secrets` (each key, token and password of the configuration) is blotted out of the finished line, however
 * it got there.
 */
export function createLogger({
  level,
  secrets,
  destination,
}: {
  readonly level: string;
  readonly secrets: readonly string[];
  readonly destination?: DestinationStream;
}): Logger {
  const blots = secrets
    .filter((secret) => secret.length >= SHORTEST_SECRET)
    // As it reads inside a JSON string; the longest first, for one that holds another.
    .map((secret) => JSON.stringify(secret).slice(1, -1))
    .sort((left, right) => right.length - left.length);
  return pino(
    {
      level,
      serializers: { err: loggedFault },
      redact: { paths: REDACTED_KEYS.flatMap(pathsOf), censor: CENSOR },
      hooks: {
        streamWrite: (line) => blots.reduce((text, secret) => text.replaceAll(secret, CENSOR), line),
      },
    },
    ...(destination ? [destination] : []),
  );
}

/** Blotting out shorter ones would tear holes into ordinary words. */
const SHORTEST_SECRET = 6;

const pathsOf = (key: string): string[] => {
  const quoted = `["${key}"]`;
  return [quoted, `*${quoted}`, `*.*${quoted}`];
};
