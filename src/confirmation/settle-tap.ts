import type { Notice } from '../channel/card.ts';
import type { Channel } from '../channel/channel.ts';
import type { CallbackReply, TapEvent } from '../channel/inbound-event.ts';
import type { ConfirmationId } from '../ids.ts';
import type { Locale } from '../locale.ts';
import type { ConfirmationRequest } from './confirmation-request.ts';
import type { ConfirmationService, Settlement } from './confirmation-service.ts';
import { NOTICES } from './notices.ts';
import type { RosterPerson } from './roster.ts';
import { settleNoticeOf } from './settle-notices.ts';
import { SETTLE_DIALOG, SETTLE_REFUSALS } from './unknown-texts.ts';

/**
 * A verified tap of a known person on a card of unknown outcome. `settle()` asks what they found only of those whose
 * word would count now, so nobody else is shown a dialog that leads nowhere.
 */
export async function settleTapped(
  ports: { readonly confirmations: Pick<ConfirmationService, 'settle'>; readonly timeZone: string },
  tapped: {
    readonly channel: Channel;
    readonly event: TapEvent;
    readonly id: ConfirmationId;
    readonly person: RosterPerson;
    readonly status: Settlement;
    /** What they typed; null where nothing was asked yet, or nothing was typed. */
    readonly detail: string | null;
    readonly recapOf: (request: ConfirmationRequest) => Readonly<Record<Locale, readonly string[]>>;
  },
): Promise<CallbackReply> {
  const { event, id, person, status, detail, recapOf } = tapped;
  const outcome = await ports.confirmations.settle({
    id,
    person: person.id,
    status,
    detail,
    surface: { kind: 'channel', id: tapped.channel.id },
  });
  if (outcome.kind !== 'detail-required') {
    return told(settleNoticeOf(outcome, { status, person: person.id, timeZone: ports.timeZone }));
  }
  if (event.reason !== undefined || event.token === null) {
    return { kind: 'reason-missing', notice: SETTLE_REFUSALS.detail_missing };
  }
  return {
    kind: 'ask-reason',
    action: status,
    confirmation: id,
    token: event.token,
    ...SETTLE_DIALOG[status],
    recap: recapOf(outcome.request),
    failure: NOTICES.reasonNotAsked,
  };
}

const told = (notice: Notice): CallbackReply => ({ kind: 'notice', notice });
