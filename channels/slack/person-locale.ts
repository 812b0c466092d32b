import { z } from 'zod';
import type { Clock } from '../../src/clock.ts';
import type { Locale } from '../../src/locale.ts';
import type { SlackClient } from './client.ts';
import { SLACK_ID } from './config.ts';

/** The language in which each person uses Slack, for what only that person sees. */
export interface PersonLocales {
  /** Never throws and never takes long; the channel's own language where Slack does not say, or says another. */
  of(user: string | undefined): Promise<Locale>;
}

/** A modal has to open within three seconds of the tap, so a slow directory is not waited for. */
const ANSWER_WITHIN_MS = 700;
const KNOWN_FOR_MS = 3_600_000;
/** After no answer, or a refusal (the scope `users:read` is missing). */
const UNKNOWN_FOR_MS = 300_000;
const MOST_PEOPLE = 2_000;

/** `users.info` with `include_locale` (docs.slack.dev): asked once for a person at a time, and remembered. */
export function createPersonLocales(input: {
  readonly client: SlackClient;
  /** The channel's own language. */
  readonly fallback: Locale;
  readonly clock: Pick<Clock, 'monotonic'>;
}): PersonLocales {
  const { client, fallback, clock } = input;
  const remembered = new Map<string, { readonly locale: Promise<Locale>; until: number }>();

  return {
    of(user) {
      if (user === undefined || !SLACK_ID.user.test(user)) return Promise.resolve(fallback);
      const known = remembered.get(user);
      if (known !== undefined && known.until > clock.monotonic()) return known.locale;
      const asked = askFor(client, user);
      const entry = { locale: asked.then((locale) => locale ?? fallback), until: Number.POSITIVE_INFINITY };
      void asked.then((locale) => {
        entry.until = clock.monotonic() + (locale === null ? UNKNOWN_FOR_MS : KNOWN_FOR_MS);
      });
      // The oldest goes, so that a workspace of any size takes a bounded room.
      const [oldest] = remembered.keys();
      if (oldest !== undefined && remembered.size >= MOST_PEOPLE) remembered.delete(oldest);
      remembered.delete(user);
      remembered.set(user, entry);
      return entry.locale;
    },
  };
}

async function askFor(client: SlackClient, user: string): Promise<Locale | null> {
  const result = await client.call({
    method: 'users.info',
    args: { user, include_locale: true },
    timeoutMs: ANSWER_WITHIN_MS,
  });
  const { data } = told.safeParse(result.kind === 'ok' ? result.data : null);
  // Chinese of every region reads our Chinese; a language that we do not speak leaves the channel's.
  const language = data?.user.locale.split('-')[0];
  if (language === 'zh') return 'zh-CN';
  return language === 'en' ? 'en-US' : null;
}

const told = z.object({ user: z.object({ locale: z.string().max(40) }) });
