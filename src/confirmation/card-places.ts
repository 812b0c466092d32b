import type { ChannelAddress } from '../channel/channel.ts';
import type { ChannelIdentity } from '../channel/channel-kind.ts';
import { type ChannelId, channelId } from '../ids.ts';
import type { ConfirmationRequest, PersonRef } from './confirmation-request.ts';
import { isOwnRequest } from './rights.ts';

/** Where cards can go at this moment. */
export interface Reach {
  /** Null where no such channel runs. */
  addressOf(channel: ChannelId): ChannelAddress | null;
  /** The accounts of a person; none for somebody unknown or inactive, whom nobody has to ask. */
  accountsOf(person: string): readonly ChannelIdentity[];
}

/** One card that a request gets: in a channel's chat, or in a direct message. */
export interface CardPlace {
  readonly channel: ChannelId;
  /** Of a direct message without its chat, which is known once the platform has taken the card. */
  readonly address: ChannelAddress;
  /** Null: the channel's chat, for everybody in it. */
  readonly direct: DirectPlace | null;
}

export interface DirectPlace {
  readonly person: PersonRef;
  /** The person's ids on the platform; at least one. */
  readonly ids: Readonly<Record<string, string>>;
}

/** What decides who may be written to directly. */
export type Addressed = Pick<ConfirmationRequest, 'policy' | 'requester' | 'agentOwner'>;

/** The cards that a request gets when it is made. */
export function firstPlaces(
  request: Addressed & Pick<ConfirmationRequest, 'approvers'>,
  reach: Reach,
): readonly CardPlace[] {
  const { notify, channels } = request.policy;
  return [
    ...(notify === 'direct' ? [] : chatPlaces(channels, reach)),
    ...(notify === 'group' ? [] : directPlaces(request, request.approvers, reach)),
  ];
}

/** The chats of these channels. */
export const chatPlaces = (channels: readonly string[], reach: Reach): readonly CardPlace[] =>
  channels.map((channel) => ({ ...addressed(channel, reach), direct: null }));

/**
 * A direct message to each of these people who could approve, on every platform where the policy's channels know an
 * account of theirs. Two channels of one app write to a person once.
 */
export function directPlaces(
  request: Addressed,
  people: readonly PersonRef[],
  reach: Reach,
): readonly CardPlace[] {
  const running = request.policy.channels.map((channel) => addressed(channel, reach));
  return people
    .filter(({ id }) => mayApprove(request, id))
    .flatMap(({ id, name }) => {
      const written = new Set<string>();
      return running.flatMap(({ channel, address }): CardPlace[] => {
        const { provider, app, tenant } = address;
        const account = reach
          .accountsOf(id)
          .find((known) => known.provider === provider && known.tenant === tenant);
        const platform = JSON.stringify([provider, app, tenant]);
        if (account === undefined || written.has(platform)) return [];
        written.add(platform);
        return [
          { channel, address: { ...address, chat: '' }, direct: { person: { id, name }, ids: account.ids } },
        ];
      });
    });
}

/** Whoever asked, and whom the policy excludes, would be asked for what is then refused. */
const mayApprove = (request: Addressed, person: string): boolean =>
  (request.policy.allowSelfApproval || !isOwnRequest(request, person)) &&
  !request.policy.excluded.includes(person);

function addressed(channel: string, reach: Reach): Pick<CardPlace, 'channel' | 'address'> {
  const id = channelId(channel);
  const address = reach.addressOf(id);
  if (!address) throw new Error(`Channel ${channel} is not running`);
  return { channel: id, address };
}
