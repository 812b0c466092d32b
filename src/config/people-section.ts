import { z } from 'zod';
import type { AnyChannelKind, ChannelIdentity } from '../channel/channel-kind.ts';
import { personId } from '../ids.ts';
import { PERSON_ROLES, type PersonConfig } from './config.ts';
import { momentIn } from './moment.ts';
import { flag, id, secretKey, text } from './settings.ts';

const ownKeys = {
  id: id.transform(personId),
  name: text.max(100),
  active: flag.default(true),
  groups: z.array(text.max(64)).default([]),
  roles: z.array(z.enum(PERSON_ROLES)).default([]),
  consoleKey: secretKey.nullable().default(null),
};

type Own = Omit<PersonConfig, 'identities'>;

/** A person, with the kinds of channels they can be reached through. */
export interface PersonEntry {
  readonly person: PersonConfig;
  readonly channelKinds: readonly string[];
}

/** An entry of `people`: beside its own keys, one for each kind of channel, with the person's account there. */
export function personSchema(
  channelKinds: readonly AnyChannelKind[],
  timeZone: string,
): z.ZodType<PersonEntry> {
  const moment = momentIn(timeZone).nullable().default(null);
  const absence = z
    .strictObject({
      from: moment,
      until: moment,
      delegate: z.string().transform(personId).nullable().default(null),
    })
    .refine(({ from, until }) => from === null || until === null || from < until, 'ends before it begins');
  const keys = { ...ownKeys, away: absence.nullable().default(null) };
  const ownKeyNames = new Set(Object.keys(keys));
  const accounts = Object.fromEntries(channelKinds.map(({ kind, identity }) => [kind, identity.optional()]));
  return z.strictObject({ ...keys, ...accounts }).transform((entry) => {
    const found = channelKinds.flatMap(({ kind }) => {
      const identity = (entry as Readonly<Record<string, unknown>>)[kind];
      return identity === undefined ? [] : [{ kind, identity: identity as ChannelIdentity }];
    });
    return {
      person: {
        // The accounts are told apart by their keys; what is left is the person's own.
        ...(Object.fromEntries(
          Object.entries(entry).filter(([key]) => ownKeyNames.has(key)),
        ) as unknown as Own),
        identities: found.map(({ identity }) => identity),
      },
      channelKinds: found.map(({ kind }) => kind),
    };
  });
}
