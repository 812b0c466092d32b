import { SYSTEM_ACTOR } from '../audit/audit-event.ts';
import type { Notice } from '../channel/card.ts';
import type { Channel } from '../channel/channel.ts';
import type { DeliveryOnRecord } from '../channel/delivery-on-record.ts';
import { isSettleAction, type TapEvent } from '../channel/inbound-event.ts';
import { NOTICES, REFUSALS } from './notices.ts';
import { knownAs, type RefusedAttempt } from './refused-attempt.ts';
import type { Roster, RosterPerson } from './roster.ts';
import type { TapMismatch } from './tap-delivery.ts';

/** Why a tap is not handed on: as a security event where the callback is not what it claims, else as a refused vote. */
export interface TapRefusal {
  readonly kind: 'callback.refused' | 'vote.refused';
  readonly code: string;
  readonly notice: Notice;
}

export const mismatchRefusal = (code: TapMismatch): TapRefusal => ({
  kind: 'callback.refused',
  code,
  notice: code === 'moved_card' ? NOTICES.movedCard : NOTICES.mismatch,
});

const refusedVote = (code: string, notice: Notice): TapRefusal => ({ kind: 'vote.refused', code, notice });

export const TAP_REFUSALS = {
  otherPerson: { kind: 'callback.refused', code: 'other_person', notice: NOTICES.otherPerson },
  bot: refusedVote('bot', NOTICES.bot),
  unknownPerson: refusedVote('unknown_person', NOTICES.unknownPerson),
  ambiguousPerson: refusedVote('ambiguous_person', NOTICES.ambiguousPerson),
  directoryUnavailable: refusedVote('directory_unavailable', NOTICES.notIdentified),
  inactivePerson: refusedVote('inactive_person', REFUSALS.inactive_person),
  decisiveNotShown: refusedVote('decisive_not_shown', NOTICES.decisiveNotShown),
} as const satisfies Record<string, TapRefusal>;

export type Voter =
  | { readonly kind: 'person'; readonly person: RosterPerson }
  /** `person` where the account is surely theirs, for the record. */
  | { readonly kind: 'refused'; readonly refusal: TapRefusal; readonly person: RosterPerson | null };

/** Who acted, by the verified envelope alone. */
export function voterOf(roster: Pick<Roster, 'personOf'>, { actor }: TapEvent): Voter {
  if (actor.isBot) return { kind: 'refused', refusal: TAP_REFUSALS.bot, person: null };
  const match = roster.personOf(actor);
  if (match.kind === 'unknown') return { kind: 'refused', refusal: TAP_REFUSALS.unknownPerson, person: null };
  if (match.kind === 'ambiguous') {
    return { kind: 'refused', refusal: TAP_REFUSALS.ambiguousPerson, person: null };
  }
  if (match.person.active) return match;
  return { kind: 'refused', refusal: TAP_REFUSALS.inactivePerson, person: match.person };
}

/** A refused tap for the record: everything that the verified envelope said, and nothing that only a button claims. */
export function refusedTap(input: {
  readonly refusal: TapRefusal;
  readonly channel: Channel;
  readonly event: TapEvent;
  readonly delivery: DeliveryOnRecord | null;
  readonly person: RosterPerson | null;
}): RefusedAttempt {
  const { refusal, channel, event, delivery, person } = input;
  const { actor, app, tenant, chat, messageId, action, eventId } = event;
  const by = person === null ? null : ({ type: 'person', id: person.id, name: person.name } as const);
  return {
    event: {
      kind: refusal.kind,
      confirmation: delivery?.confirmationId ?? null,
      run: null,
      actor: by ?? SYSTEM_ACTOR,
      data: {
        code: refusal.code,
        channel: channel.id,
        delivery: delivery?.id ?? null,
        action,
        app,
        tenant,
        chat,
        messageId,
        eventId,
        account: {
          provider: actor.provider,
          tenant: actor.tenant,
          ids: { ...actor.ids },
          isBot: actor.isBot,
        },
      },
    },
    act: isSettleAction(action) ? 'settle' : action === 'revoke' ? 'revoke' : 'vote',
    code: refusal.code,
    who: by === null ? accountOf(actor) : knownAs(by),
    surface: channel.id,
    ...(refusal.kind === 'callback.refused' && { place: JSON.stringify([app, tenant, chat, messageId]) }),
  };
}

/** One account, in whatever order the platform gives its ids. */
const accountOf = ({ provider, tenant, ids }: TapEvent['actor']): string =>
  `account:${JSON.stringify([provider, tenant, ...Object.entries(ids).sort().flat()])}`;
