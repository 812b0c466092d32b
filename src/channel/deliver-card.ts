import type { Logger } from 'pino';
import { assertNever } from '../assert-never.ts';
import type { Clock } from '../clock.ts';
import { type BoundedAnswer, boundedCall } from './bounded-call.ts';
import type { Card, RenderedCard } from './card.ts';
import { cardDigest } from './card-digest.ts';
import type { CardSource } from './card-source.ts';
import type { Channel, OutgoingDelivery, SendOutcome, UpdateOutcome } from './channel.ts';
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

/**
 * One try at one card: the request is read fresh, drawn, kept, and only then sent or changed. A throw is the
 * database's and comes before anything went out; nothing that the platform does makes this throw.
 */
export async function deliverCard(input: DeliverCardInput): Promise<Delivered> {
  const { due, channel, cards, outbox } = input;
  const card = await cards.read({ confirmationId: due.confirmationId, locale: channel.locale });
  if (card === null) return finished({ kind: 'gave-up', error: 'request_not_found' });
  const closed = card.state !== 'pending';
  // Where an earlier send may have arrived, its card still has to be found and brought to its final state.
  if (closed && due.task === 'send' && due.attempt === 1) {
    return finished({ kind: 'gave-up', error: 'closed_before_sent' });
  }

  const rendered = drawn(input, card);
  if (rendered === null) {
    return concluded(input, { outcome: NOT_DRAWN, shown: { version: 0, digest: '' }, mayGiveUp: closed });
  }
  const shown: ShownCard = { version: card.version, digest: cardDigest(rendered) };
  if (!(await outbox.keepRendered({ due, card, rendered, digest: shown.digest }))) return finished(null);
  if (input.signal.aborted || input.clock.monotonic() >= input.beginBefore) {
    await outbox.release(due);
    return finished(null);
  }

  const outgoing = {
    id: due.id,
    confirmationId: due.confirmationId,
    token: due.token,
    direct: due.direct,
    rendered,
  };
  const outcome =
    due.task === 'send'
      ? await send(input, { ...outgoing, attempt: due.attempt })
      : await update(input, outgoing);
  return concluded(input, { outcome, shown, mayGiveUp: closed || due.task === 'update' });
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
  const messageIds = input.due.task === 'update' ? input.due.messageIds : [];
  const outcomes = await Promise.all(
    messageIds.map(async (messageId): Promise<UpdateOutcome> => {
      const answer = await boundedCall({
        ...input,
        call: (signal) => input.channel.update({ ...outgoing, attempt: 1, messageId, signal }),
      });
      if (answer.kind === 'answered') return answer.outcome;
      return { kind: 'retry', error: failureOf(input, answer), retryAfterMs: null };
    }),
  );
  // One message that is gone must not keep the others from counting, nor the other way round.
  return (
    outcomes.find(({ kind }) => kind === 'retry') ??
    outcomes.find(({ kind }) => kind === 'updated') ??
    outcomes[0] ?? { kind: 'refused', error: 'no_message' }
  );
}

function concluded(
  { due, random }: DeliverCardInput,
  {
    outcome,
    shown,
    mayGiveUp,
  }: {
    readonly outcome: SendOutcome | UpdateOutcome;
    readonly shown: ShownCard;
    readonly mayGiveUp: boolean;
  },
): Delivered {
  const { failedAttempts } = due;
  const gaveUp = mayGiveUp && failedAttempts + 1 >= MOST_ATTEMPTS;
  switch (outcome.kind) {
    case 'sent':
      return finished({ ...outcome, shown });
    case 'updated':
      return finished({ kind: 'updated', shown });
    case 'refused':
      return finished({ kind: 'gave-up', error: outcome.error });
    case 'uncertain':
    case 'retry': {
      const { kind, error } = outcome;
      // Sends before this one stay on record as possibly arrived, so such a card still reads `uncertain`.
      if (gaveUp) return finished({ kind: 'gave-up', error });
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
