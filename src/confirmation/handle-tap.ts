import type { Logger } from 'pino';
import { boundedCall } from '../channel/bounded-call.ts';
import type { Notice } from '../channel/card.ts';
import { CARD_WORDS } from '../channel/card-words.ts';
import type { Channel } from '../channel/channel.ts';
import { cutText } from '../channel/cut-text.ts';
import { type CallbackReply, isSettleAction, type TapEvent } from '../channel/inbound-event.ts';
import { visibleText } from '../channel/visible-text.ts';
import type { Clock } from '../clock.ts';
import type { Locale } from '../locale.ts';
import type { Verdict } from '../verdict.ts';
import { ActorDirectory } from './actor-directory.ts';
import { type ArgumentMask, MASK_BY_SHAPE, maskArguments } from './argument-mask.ts';
import { cardLines } from './card-lines.ts';
import { CARD_TEXTS } from './card-texts.ts';
import type { ConfirmationRequest } from './confirmation-request.ts';
import type { ConfirmationService } from './confirmation-service.ts';
import { NOTICES, noticeOf, REASON_DIALOG } from './notices.ts';
import type { RefusalRecorder } from './refused-attempt.ts';
import { resolveVoter } from './resolve-voter.ts';
import { revokeNoticeOf } from './revoke-notices.ts';
import type { Roster, RosterPerson } from './roster.ts';
import { settleTapped } from './settle-tap.ts';
import { matchTap, type TapDeliveries, type TapMatch } from './tap-delivery.ts';
import {
  mismatchRefusal,
  refusedTap,
  TAP_REFUSALS,
  type TapRefusal,
  type Voter,
  voterOf,
} from './tap-refusal.ts';

export interface TapHandler {
  /** Resolves after the commit, well inside the platforms' 3 seconds, with what the person shall be told. Never throws. */
  handle(channel: Channel, event: TapEvent): Promise<CallbackReply>;
}

export interface TapHandlerPorts {
  readonly confirmations: Pick<ConfirmationService, 'decide' | 'revoke' | 'settle'>;
  readonly deliveries: TapDeliveries;
  readonly roster: Pick<Roster, 'personOf' | 'isResolvable'>;
  readonly refusals: RefusalRecorder;
  readonly clock: Clock;
  readonly logger: Logger;
  /** IANA name, for the times in notices. */
  readonly timeZone: string;
  /** Which arguments are not shown; by default those that are secret by name or shape. */
  readonly mask?: ArgumentMask;
}

/** Platforms give a callback 3 s in all; what is not known by then is said to be unknown, never to be done. */
const ANSWER_WITHIN_MS = 2_500;
/** In UTF-16 units; the chats' own input fields stop there too. */
const LONGEST_REASON = 1_000;

/**
 * What a verified tap does: compare it with the card on record, find the person, and hand the vote to `decide()`, or
 * the revocation to `revoke()`.
 * Everything that is refused here changes nothing and is on the record; a throw anywhere reads "not recorded".
 */
export function createTapHandler(ports: TapHandlerPorts): TapHandler {
  const { clock, logger } = ports;
  const directory = new ActorDirectory({ clock });
  return {
    async handle(channel, event) {
      const answer = await boundedCall({
        clock,
        timeoutMs: ANSWER_WITHIN_MS,
        call: () => answerTap({ ...ports, directory }, channel, event),
      });
      if (answer.kind === 'answered') return answer.outcome;
      if (answer.kind === 'threw') {
        logger.error({ err: answer.error, channel: channel.id }, 'a tap was not recorded');
        return told(NOTICES.notRecorded);
      }
      // The transaction may still commit; the card will say so.
      logger.error({ channel: channel.id }, 'a tap took too long to answer for certain');
      return told(NOTICES.unconfirmed);
    },
  };
}

async function answerTap(
  ports: TapHandlerPorts & { readonly directory: ActorDirectory },
  channel: Channel,
  event: TapEvent,
): Promise<CallbackReply> {
  const match = await matchTap({ ...ports, channel, event });
  const { delivery } = match;
  const refuse = async (refusal: TapRefusal, { person }: Voter): Promise<CallbackReply> => {
    await ports.refusals.record(refusedTap({ refusal, channel, event, delivery, person }));
    return told(refusal.notice);
  };

  // Nobody's directory is asked for a callback that is refused in any case.
  if (match.kind === 'mismatch') return refuse(mismatchRefusal(match.code), voterOf(ports.roster, event));
  if (event.openedFor !== null && !Object.values(event.actor.ids).includes(event.openedFor)) {
    return refuse(TAP_REFUSALS.otherPerson, voterOf(ports.roster, event));
  }
  const onFailed = (error: unknown) =>
    ports.logger.warn({ err: error, channel: channel.id }, 'nobody could say who tapped');
  const voter = await resolveVoter({ ...ports, channel, event, onFailed });
  if (voter.kind === 'refused') return refuse(voter.refusal, voter);
  // A card that was written to somebody else; the directory has just said who tapped.
  if (match.delivery.person !== null && match.delivery.person !== voter.person.id)
    return refuse(mismatchRefusal('other_recipient'), voter);
  const dialogToken = event.reason === undefined ? event.token : null;
  const tapped = { channel, event, match, person: voter.person, dialogToken };
  if (event.action === 'revoke') return revokeTapped(ports, tapped);
  if (isSettleAction(event.action)) {
    return settleTapped(ports, {
      ...tapped,
      id: match.delivery.confirmationId,
      status: event.action,
      detail: wordsOf(event),
      recapOf,
    });
  }
  if (event.action === 'approve' && !match.delivery.decisiveShown)
    return refuse(TAP_REFUSALS.decisiveNotShown, voter);
  return vote(ports, event.action, tapped);
}

interface Tapped {
  readonly channel: Channel;
  readonly event: TapEvent;
  readonly match: Extract<TapMatch, { kind: 'matched' }>;
  readonly person: RosterPerson;
  /** Of a dialog that can follow; null where words were asked for already, so that none were given. */
  readonly dialogToken: string | null;
}

/** Never held up by a question: what is to be stopped is stopped by one tap. */
async function revokeTapped(
  ports: TapHandlerPorts,
  { channel, match, person }: Tapped,
): Promise<CallbackReply> {
  const outcome = await ports.confirmations.revoke({
    id: match.delivery.confirmationId,
    person: person.id,
    reason: null,
    surface: { kind: 'channel', id: channel.id },
  });
  return told(revokeNoticeOf(outcome, ports.timeZone));
}

/** `decide()` asks for a reason only of who may vote now, so nobody else is shown a dialog that leads nowhere. */
async function vote(
  ports: TapHandlerPorts,
  verdict: Verdict,
  { channel, event, match, person, dialogToken }: Tapped,
): Promise<CallbackReply> {
  const { delivery, seen } = match;
  const outcome = await ports.confirmations.decide({
    id: delivery.confirmationId,
    person: person.id,
    verdict,
    reason: wordsOf(event),
    // The card that was tapped is this request's own, and a request's arguments never change.
    argsDigest: null,
    surface: { kind: 'channel', id: channel.id, seen, canAsk: dialogToken !== null },
  });
  if (outcome.kind !== 'reason-required') return told(noticeOf(outcome, verdict, ports.timeZone));
  if (dialogToken === null) return { kind: 'reason-missing', notice: NOTICES.reasonMissing };
  return {
    kind: 'ask-reason',
    action: verdict,
    confirmation: delivery.confirmationId,
    token: dialogToken,
    ...REASON_DIALOG[verdict],
    recap: recapOf(outcome.request, ports.mask),
    failure: NOTICES.reasonNotAsked,
  };
}

/** What decides, the tool included, and the code by which two people see that they mean the same request. */
const recapOf = (
  request: ConfirmationRequest,
  mask: ArgumentMask = MASK_BY_SHAPE,
): Readonly<Record<Locale, readonly string[]>> => ({
  'zh-CN': recapIn(request, 'zh-CN', mask),
  'en-US': recapIn(request, 'en-US', mask),
});

function recapIn(request: ConfirmationRequest, locale: Locale, mask: ArgumentMask): readonly string[] {
  const texts = CARD_TEXTS[locale];
  const shown = maskArguments(request.args, request.decisiveFields, mask);
  const { lines } = cardLines(shown, request.decisiveFields, texts);
  const decisive = lines.filter((line) => line.decisive);
  return [
    ...decisive.map(({ label, value }) => `${label}: ${value}`),
    `${CARD_WORDS[locale].tool}: ${visibleText(request.tool).text}`,
    `${texts.facts.code}: ${request.verificationCode}`,
  ];
}

/** Cut on a character, without a mark: it goes on the record as the person's own words. */
const wordsOf = ({ reason }: TapEvent): string | null =>
  reason?.trim() ? cutText(reason.trim(), LONGEST_REASON).text : null;

const told = (notice: Notice): CallbackReply => ({ kind: 'notice', notice });
