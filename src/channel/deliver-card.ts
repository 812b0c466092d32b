import type { Logger } from 'pino';
import { assertNever } from '../assert-never.ts';
import type { Clock } from '../clock.ts';
import { type BoundedAnswer, boundedCall } from './bounded-call.ts';
import type { Card, CardState, RenderedCard } from './card.ts';
import { cardDigest } from './card-digest.ts';
import { CARD_VIEWS, type CardSource } from './card-source.ts';
import type { Channel, OutgoingDelivery, SendOutcome, UpdateOutcome } from './channel.ts';
import type { ChatPace } from './chat-pace.ts';
import type { DeliveryOutbox, DeliveryResult, DueDelivery, ShownCard } from './delivery-outbox.ts';
import { retryDelayMs } from './retry-delay.ts';

export interface DeliverCardInput {
  readonly due: DueDelivery;
  readonly channel: Channel;
  readonly cards: CardSource;
  readonly outbox: Pick<DeliveryOutbox, 'keepRendered' | 'release'>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly pace: ChatPace;
  /** Ends the wait for a turn: the service takes nothing new. */
  readonly stopping: AbortSignal;
  /** Past this on the monotonic clock nothing goes out: the lease could end while the platform is still working. */
  readonly beginBefore: number;
  readonly timeoutMs: number;
  /** Aborts what is on its way when the service stops. */
  readonly signal: AbortSignal;
}

export interface Delivered {
  /** Null: the lease was lost or given back, and nothing went out. */
  readonly result: DeliveryResult | null;
  /** How long the platform wants to be left alone; null where it did not say. */
  readonly pauseMs: number | null;
}

/** About a day at the longest back-off. Only a card that people still wait for is tried for ever. */
const MOST_ATTEMPTS = 100;
/** A card that is to move and cannot be closed: nothing is lost by waiting, its limit is a day away. */
const RETIRE_AGAIN_MS = 900_000;

/**
 * One try at one card: the request is read fresh, drawn, kept, and only then, when it is this card's turn, sent or
 * changed. A throw is the database's and comes before anything went out; nothing that the platform does makes this throw.
 */
export async function deliverCard(input: DeliverCardInput): Promise<Delivered> {
  const { due, channel, cards, outbox } = input;
  const reading = { confirmationId: due.confirmationId, locale: channel.locale, view: due.view };
  const card = await cards.read({ ...reading, moved: false });
  if (card === null) return finished({ kind: 'gave-up', error: 'request_not_found', mayRecover: false });
  const stands = cardStands(card.state);
  const unsent = unsentResult(due, card.state);
  if (unsent !== null) return finished(unsent);

  const moves = due.task === 'retire' && stands;
  const shownCard = moves ? ((await cards.read({ ...reading, moved: true })) ?? card) : card;
  const rendered = drawn(input, shownCard);
  const mayGiveUp = card.state !== 'pending' || due.task !== 'send';
  if (rendered === null) {
    const shown = { version: 0, digest: '', hasButtons: true };
    return concluded(input, { outcome: NOT_DRAWN, shown, mayGiveUp, stands, moves });
  }
  const shown: ShownCard = {
    version: shownCard.version,
    digest: cardDigest(rendered),
    hasButtons: shownCard.actions.kind !== 'none',
  };
  if (!(await outbox.keepRendered({ due, card: shownCard, rendered, digest: shown.digest })))
    return finished(null);
  if (!(await turns(input))) {
    await outbox.release(due);
    return finished(null);
  }

  const outgoing = {
    id: due.issueId,
    confirmationId: due.confirmationId,
    token: due.token,
    direct: due.direct,
    rendered,
  };
  const outcome =
    due.task === 'send'
      ? await send(input, { ...outgoing, attempt: due.attempt })
      : await update(input, outgoing);
  return concluded(input, { outcome, shown, mayGiveUp, stands, moves });
}

/** Whether the card still has to change one day: it asks somebody something, or something is still to become known. */
function cardStands(state: CardState): boolean {
  return ['pending', 'cooling-off', 'approved', 'executing', 'unknown'].includes(state);
}

/** What becomes of a card that is not in the chat and that nobody needs there any more; null where it has to go out. */
function unsentResult(due: DueDelivery, state: CardState): DeliveryResult | null {
  // Where an earlier send may have arrived, its card still has to be found and brought to its final state.
  if (due.task !== 'send' || due.attempt > 1) return null;
  if (due.reissued) return cardStands(state) ? null : { kind: 'reinstated' };
  return state === 'pending' ? null : { kind: 'gave-up', error: 'closed_before_sent', mayRecover: false };
}

/** One turn for each call; false where the lease could end, or the service stops, before the last of them. */
async function turns(input: DeliverCardInput): Promise<boolean> {
  const { due, pace, signal, beginBefore, clock } = input;
  const task = due.task === 'send' ? 'messages' : 'changes';
  const calls = due.task === 'send' ? 1 : due.messageIds.length;
  for (let call = 0; call < calls; call += 1) {
    if (!(await pace.turn({ task, before: beginBefore, signal: input.stopping }))) return false;
  }
  return !signal.aborted && clock.monotonic() < beginBefore;
}

/** A card that cannot be drawn is a fault of ours; it is tried again, and the request ends by its time-outs. */
const NOT_DRAWN = { kind: 'retry', error: 'card_not_drawn', retryAfterMs: null } as const;

function drawn({ channel, due, logger }: DeliverCardInput, card: Card): RenderedCard | null {
  try {
    return channel.render(card, due.token);
  } catch (error) {
    logger.error({ err: error, delivery: due.id, channel: due.channel }, 'a card could not be drawn');
    return null;
  }
}

type Outgoing = Omit<OutgoingDelivery, 'signal'>;

async function send(input: DeliverCardInput, outgoing: Outgoing): Promise<SendOutcome> {
  const answer = await boundedCall({
    ...input,
    call: (signal) => input.channel.send({ ...outgoing, signal }),
  });
  if (answer.kind === 'answered') return answer.outcome;
  // Whatever ended it, the message may be in the chat.
  return { kind: 'uncertain', error: failureOf(input, answer) };
}

/** All messages of one card side by side; mostly there is one. */
async function update(input: DeliverCardInput, outgoing: Omit<Outgoing, 'attempt'>): Promise<UpdateOutcome> {
  const messageIds = input.due.task === 'send' ? [] : input.due.messageIds;
  const outcomes = await Promise.all(
    messageIds.map(async (messageId): Promise<UpdateOutcome> => {
      const answer = await boundedCall({
        ...input,
        call: (signal) => input.channel.update({ ...outgoing, attempt: 1, messageId, signal }),
      });
      if (answer.kind === 'answered') return answer.outcome;
      return { kind: 'uncertain', error: failureOf(input, answer) };
    }),
  );
  // One message that is gone must not keep the others from counting, nor the other way round.
  const found = WORST_FIRST.map((kind) => outcomes.find((outcome) => outcome.kind === kind));
  return found.find((outcome) => outcome !== undefined) ?? { kind: 'gone', error: 'no_message' };
}

const WORST_FIRST = ['uncertain', 'retry', 'content-refused', 'updated', 'refused', 'gone'] as const;

function concluded(
  { due, random }: DeliverCardInput,
  {
    outcome,
    shown,
    mayGiveUp,
    stands,
    moves,
  }: {
    readonly outcome: SendOutcome | UpdateOutcome;
    readonly shown: ShownCard;
    readonly mayGiveUp: boolean;
    readonly stands: boolean;
    readonly moves: boolean;
  },
): Delivered {
  const { failedAttempts } = due;
  const gaveUp = mayGiveUp && failedAttempts + 1 >= MOST_ATTEMPTS;
  switch (outcome.kind) {
    case 'sent':
      return finished({ ...outcome, shown });
    case 'updated':
      return finished(moves ? { kind: 'retired' } : { kind: 'updated', shown });
    case 'gone':
      // Somebody deleted the card, or it is too old: people who are still asked get a new one.
      if (stands) return finished({ kind: 'retired' });
      return finished({ kind: 'gave-up', error: outcome.error, mayRecover: false });
    case 'content-refused': {
      const view = CARD_VIEWS[CARD_VIEWS.indexOf(due.view) + 1];
      if (view === undefined) return finished({ kind: 'gave-up', error: outcome.error, mayRecover: true });
      return finished({ kind: 'content-refused', error: outcome.error, view });
    }
    case 'refused':
      if (moves) return finished({ kind: 'retry', error: outcome.error, retryInMs: RETIRE_AGAIN_MS });
      return finished({ kind: 'gave-up', error: outcome.error, mayRecover: true });
    case 'uncertain':
    case 'retry': {
      const { kind, error } = outcome;
      // Sends before this one stay on record as possibly arrived, so such a card still reads `uncertain`.
      if (gaveUp) return finished({ kind: 'gave-up', error, mayRecover: true });
      const retryAfterMs = kind === 'retry' ? outcome.retryAfterMs : null;
      const retryInMs = retryDelayMs({ failedAttempts, retryAfterMs, random });
      return { result: { kind, error, retryInMs }, pauseMs: retryAfterMs === null ? null : retryInMs };
    }
    default:
      return assertNever(outcome);
  }
}

const finished = (result: DeliveryResult | null): Delivered => ({ result, pauseMs: null });

/** What a throw says may hold anything, so only the log gets it. */
function failureOf(
  { due, logger }: DeliverCardInput,
  answer: Exclude<BoundedAnswer<unknown>, { kind: 'answered' }>,
) {
  if (answer.kind !== 'threw') return answer.kind === 'timed-out' ? 'timed_out' : 'service_stopped';
  logger.error(
    { err: answer.error, delivery: due.id, channel: due.channel },
    'a channel threw while delivering',
  );
  return 'channel_threw';
}
