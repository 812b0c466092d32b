import type { Notice } from '../channel/card.ts';
import type { Channel } from '../channel/channel.ts';
import type { CallbackReply } from '../channel/inbound-event.ts';
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
    readonly id: ConfirmationId;
    readonly person: RosterPerson;
    readonly status: Settlement;
    /** What they typed; null where nothing was asked yet, or nothing was typed. */
    readonly detail: string | null;
    /** Of a dialog that can follow; null where words were asked for already. */
    readonly dialogToken: string | null;
    readonly recapOf: (request: ConfirmationRequest) => Readonly<Record<Locale, readonly string[]>>;
  },
): Promise<CallbackReply> {
  const { id, person, status, detail, dialogToken, recapOf } = tapped;
  const outcome = await ports.confirmations.settle({
    id,
    person: person.id,
    status,
    detail,
    surface: { kind: 'channel', id: tapped.channel.id, canAsk: dialogToken !== null },
  });
  if (outcome.kind !== 'detail-required') {
    return told(settleNoticeOf(outcome, { status, person: person.id, timeZone: ports.timeZone }));
  }
  if (dialogToken === null) return { kind: 'reason-missing', notice: SETTLE_REFUSALS.detail_missing };
  return {
    kind: 'ask-reason',
    action: status,
    confirmation: id,
    token: dialogToken,
    ...SETTLE_DIALOG[status],
    recap: recapOf(outcome.request),
    failure: NOTICES.reasonNotAsked,
  };
}

const told = (notice: Notice): CallbackReply => ({ kind: 'notice', notice });
