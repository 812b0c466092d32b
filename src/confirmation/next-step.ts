import type { PersonId } from '../ids.ts';
import type { ConfirmationRequest } from './confirmation-request.ts';
import type { FrozenDelegate } from './frozen-approver.ts';
import { isOwnRequest } from './rights.ts';
import { escalatedSeatsOf, isAwayAt, type Seat, seatsOf } from './seats.ts';

/** What time alone does to an open request, each once. None of it approves or lowers anything. */
export interface DueSteps {
  /** Holders whose absence has begun, with the delegate who takes their seat. */
  readonly seat: readonly { readonly holder: PersonId; readonly delegate: FrozenDelegate }[];
  readonly escalate: boolean;
  readonly remind: boolean;
  /** The next moment at which something is due; null: never. */
  readonly next: Date | null;
}

export function dueSteps(request: ConfirmationRequest, now: Date): DueSteps {
  const { policy, createdAt } = request;
  const after = (durationMs: number | null | undefined, done: Date | null): Date | null =>
    durationMs === null || durationMs === undefined || done !== null
      ? null
      : new Date(createdAt.getTime() + durationMs);
  const escalateAt = after(policy.escalation?.afterMs, request.escalatedAt);
  const remindAt = after(policy.remindAfterMs, request.remindedAt);
  const isDue = (at: Date | null): boolean => at !== null && at <= now;
  const escalate = isDue(escalateAt);

  const seats = escalate ? [...seatsOf(request), ...escalatedSeatsOf(request)] : seatsOf(request);
  const waiting = seats.filter(({ id }) => !request.delegatedSeats.includes(id));
  const seat = waiting.flatMap((holder) => {
    const delegate = holder.away?.delegate;
    return delegate && isAwayAt(holder.away, now) && canStandIn(request, seats, delegate)
      ? [{ holder: holder.id, delegate }]
      : [];
  });
  const later = [
    escalateAt,
    remindAt,
    ...waiting.map(({ away }) => (away?.delegate && away.from !== null ? new Date(away.from) : null)),
  ];
  const next = later.reduce<Date | null>(
    (first, at) => (at !== null && at > now && (first === null || at < first) ? at : first),
    null,
  );
  return { seat, escalate, remind: isDue(remindAt), next };
}

/** Whoever may never vote as a delegate is not shown as one. */
const canStandIn = (request: ConfirmationRequest, seats: readonly Seat[], { id }: FrozenDelegate): boolean =>
  !isOwnRequest(request, id) &&
  !request.policy.excluded.includes(id) &&
  !seats.some((seat) => seat.id === id);

export function isAnythingDue(request: ConfirmationRequest, now: Date): boolean {
  const { seat, escalate, remind } = dueSteps(request, now);
  return seat.length > 0 || escalate || remind;
}

/** Now or later: whether time alone will ever do anything to the request. */
export const isAnythingAhead = (request: ConfirmationRequest, now: Date): boolean =>
  isAnythingDue(request, now) || dueSteps(request, now).next !== null;
