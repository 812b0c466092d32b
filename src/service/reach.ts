import type { Channel } from '../channel/channel.ts';
import type { Config } from '../config/config.ts';
import type { Reach } from '../confirmation/card-places.ts';
import type { ChannelId } from '../ids.ts';

/** Where cards can go, by the configuration in force and the channels that run. */
export function createReach(
  { people }: Pick<Config, 'people'>,
  channels: ReadonlyMap<ChannelId, Pick<Channel, 'address'>>,
): Reach {
  const byId = new Map<string, Config['people'][number]>(people.map((person) => [person.id, person]));
  return {
    addressOf: (channel) => channels.get(channel)?.address ?? null,
    accountsOf(id) {
      const person = byId.get(id);
      return person?.active === true ? person.identities : [];
    },
  };
}
