import type { ConfirmationRequest, PersonRef } from './confirmation-request.ts';
import type { FrozenAbsence, FrozenApprover } from './frozen-approver.ts';

/** One approver's place in a request; a quorum counts seats with an approving vote. */
export type Seat = FrozenApprover;

/** Somebody who may take an absent person's seat, in their own name. */
export interface Deputy {
  readonly person: PersonRef;
  readonly holder: PersonRef;
  /** The first moment at which the holder is back; null: until further notice. */
  readonly until: Date | null;
}

/** The seats that are there now: those of the policy, and once it was escalated those that this added. */
export const seatsOf = (
  request: Pick<ConfirmationRequest, 'approvers' | 'policy' | 'escalatedAt'>,
): readonly Seat[] => [
  ...request.approvers,
  ...(request.escalatedAt === null ? [] : escalatedSeatsOf(request)),
];

/** The seats that escalation adds, whether it has come or not. */
export const escalatedSeatsOf = ({
  approvers,
  policy,
}: Pick<ConfirmationRequest, 'approvers' | 'policy'>): readonly Seat[] =>
  (policy.escalation?.people ?? []).filter(({ id }) => !approvers.some((approver) => approver.id === id));

/** Everybody whose standing in is on the record, for the seats that are there now. */
export const deputiesOf = (request: ConfirmationRequest): readonly Deputy[] =>
  seatsOf(request).flatMap(({ id, name, away }) =>
    away?.delegate && request.delegatedSeats.includes(id)
      ? [
          {
            person: { id: away.delegate.id, name: away.delegate.name },
            holder: { id, name },
            until: away.until === null ? null : new Date(away.until),
          },
        ]
      : [],
  );

/** Everybody who has, or stands in for, a seat now. */
export const isSeated = (request: ConfirmationRequest, person: string): boolean =>
  seatsOf(request).some(({ id }) => id === person) ||
  deputiesOf(request).some((deputy) => deputy.person.id === person);

export const isAwayAt = (away: Pick<FrozenAbsence, 'from' | 'until'> | null, at: Date): boolean =>
  away !== null &&
  (away.from === null || new Date(away.from) <= at) &&
  (away.until === null || at < new Date(away.until));

/** Away during all of a time, so that nobody can count on the person. */
export const isAwayThroughout = (
  away: Pick<FrozenAbsence, 'from' | 'until'> | null,
  { from, until }: { readonly from: Date; readonly until: Date },
): boolean =>
  away !== null &&
  (away.from === null || new Date(away.from) <= from) &&
  (away.until === null || until <= new Date(away.until));
