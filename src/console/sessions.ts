import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../clock.ts';
import type { PersonConfig } from '../config/config.ts';
import { personPrincipal } from '../http/authenticator.ts';
import type { PersonPrincipal } from '../http/principal.ts';

/**
 * Who is signed in to the pages. The cookie says who and until when, under a MAC whose key comes from that person's
 * own key: every replica can check it, nothing is stored, and it ends with the key, with the person, or in 8 hours.
 */
export interface Sessions {
  /** The `set-cookie` header that signs the person in; null for one who has no key of their own. */
  issue(person: PersonPrincipal): string | null;
  /** Whom the request's `cookie` header names; null where nobody, or not anymore. */
  personOf(cookieHeader: string | undefined): PersonPrincipal | null;
  /** The `set-cookie` header that signs out. */
  readonly clear: string;
}

const SESSION_MS = 8 * 3_600_000;

export function createSessions({
  people,
  clock,
  https,
}: {
  readonly people: readonly PersonConfig[];
  readonly clock: Clock;
  /** Then the cookie never goes over plain HTTP, and carries the prefix that browsers hold it to. */
  readonly https: boolean;
}): Sessions {
  const name = https ? '__Host-countersign' : 'countersign';
  const attributes = `Path=/; HttpOnly; SameSite=Strict${https ? '; Secure' : ''}`;
  const byId = new Map<string, { readonly principal: PersonPrincipal; readonly macKey: Buffer }>();
  for (const person of people) {
    if (person.consoleKey === null || !person.active) continue;
    byId.set(person.id, { principal: personPrincipal(person), macKey: macKeyOf(person.consoleKey) });
  }
  return {
    issue({ person }) {
      const known = byId.get(person.id);
      if (!known) return null;
      const claims = `${Buffer.from(person.id).toString('base64url')}.${clock.now() + SESSION_MS}`;
      const mac = macOf(known.macKey, claims).toString('base64url');
      return `${name}=${claims}.${mac}; ${attributes}; Max-Age=${SESSION_MS / 1000}`;
    },
    personOf(cookieHeader) {
      const [, id, expires, mac] =
        /^([\w-]+)\.(\d{1,16})\.([\w-]{43})$/.exec(cookieValue(cookieHeader, name) ?? '') ?? [];
      if (id === undefined || expires === undefined || mac === undefined) return null;
      const known = byId.get(Buffer.from(id, 'base64url').toString());
      if (!known) return null;
      const right = timingSafeEqual(Buffer.from(mac, 'base64url'), macOf(known.macKey, `${id}.${expires}`));
      return right && clock.now() < Number(expires) ? known.principal : null;
    },
    clear: `${name}=; ${attributes}; Max-Age=0`,
  };
}

const macKeyOf = (consoleKey: string): Buffer =>
  createHash('sha256').update(`countersign console session\n${consoleKey}`).digest();

const macOf = (key: Buffer, claims: string): Buffer => createHmac('sha256', key).update(claims).digest();

/** The value of the one cookie of this name; null where it is absent or sent twice. */
function cookieValue(header: string | undefined, name: string): string | null {
  const values = (header ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
  return values.length === 1 ? (values[0] ?? null) : null;
}
