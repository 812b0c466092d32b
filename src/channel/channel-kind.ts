import type { Logger } from 'pino';
import type { z } from 'zod';
import type { Clock } from '../clock.ts';
import type { ChannelId } from '../ids.ts';
import type { Locale } from '../locale.ts';
import type { Channel } from './channel.ts';

/** How one person is known on one platform; each id kind is compared with the same kind in a callback. */
export interface ChannelIdentity {
  readonly provider: string;
  readonly tenant: string;
  /** For example `{openId: 'ou_…'}` or `{user: 'U0…'}`; at least one. */
  readonly ids: Readonly<Record<string, string>>;
}

/**
 * What a channel folder offers to the composition root. `settings` and `identity` are strict zod objects, so the
 * configuration refuses unknown keys and names the nearest known one.
 */
export interface ChannelKind<Settings> {
  readonly kind: string;
  /** The keys of a `channels[]` entry of this kind, beside `id` and `kind`. A missing secret is a fault here. */
  readonly settings: z.ZodType<Settings>;
  /** The value of `people[].<kind>`. */
  readonly identity: z.ZodType<ChannelIdentity>;
  /** Every secret in the settings, for redaction. */
  secrets(settings: Settings): readonly string[];
  create(input: ChannelInput<Settings>): Channel;
  /**
   * What the platform's console makes a ready app from, as text; absent where it takes no such thing. `callbackUrl` is
   * null for an app that connects by itself.
   */
  manifest?(input: { readonly name: string; readonly callbackUrl: string | null }): string;
}

export interface ChannelInput<Settings> {
  readonly id: ChannelId;
  readonly settings: Settings;
  readonly locale: Locale;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A kind whose settings type is known only to itself, as the explicit list in `channels/index.ts` holds it. */
// biome-ignore lint/suspicious/noExplicitAny: the list holds kinds of different settings; each checks its own.
export type AnyChannelKind = ChannelKind<any>;
