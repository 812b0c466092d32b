import { approvalReasonsOf } from '../confirmation/approvals.ts';
import type {
  ClosedConfirmationRequest,
  ConfirmationRequest,
  PersonRef,
  Rerun,
} from '../confirmation/confirmation-request.ts';
import type { DeliveryRecord } from '../confirmation/delivery-record.ts';
import type { FollowedRejection } from '../confirmation/followed-rejection.ts';
import { deputiesOf, seatsOf } from '../confirmation/seats.ts';
import type { SeenCard } from '../confirmation/seen-card.ts';
import type { Principal } from './principal.ts';
import type { ConfirmationJson, DecisionJson, ExecutionJson } from './schemas/confirmation-schema.ts';

/**
 * For whom an answer is written. An agent is told what was decided and why, but never who may decide or who did: it
 * must not learn whom to talk into it.
 */
export type Audience = 'agent' | 'people';

export const audienceOf = (principal: Principal): Audience =>
  principal.type === 'key' && principal.role === 'agent' ? 'agent' : 'people';

/** A confirmation as the contract shows it. */
export function confirmationJson({
  request,
  deliveries,
  frozen,
  audience,
  seesFollowed,
}: {
  readonly request: ConfirmationRequest;
  readonly deliveries: readonly DeliveryRecord[];
  /** A freeze keeps it from running now. */
  readonly frozen: boolean;
  readonly audience: Audience;
  /** The reader may see the rejected request that this one follows. */
  readonly seesFollowed: boolean;
}): ConfirmationJson {
  const decision = request.status === 'pending' ? null : decisionJson(request, audience);
  return {
    id: request.id,
    status: request.status,
    tool: request.tool,
    args: request.args,
    argsDigest: request.argsDigest,
    verificationCode: request.verificationCode,
    summary: request.summary,
    agent: request.agent,
    session: request.session,
    callId: request.callId,
    run: request.runId,
    invocation: request.runId === null ? null : request.invocationId,
    supersedes: request.supersedes,
    supersededBy: request.supersededBy,
    follows: request.follows && followsJson(request.follows, { audience, seesFollowed }),
    requester: personJson(request.requester),
    policy: { id: request.policy.id, quorum: request.policy.quorum },
    ...(audience === 'people' ? peopleJson(request) : {}),
    decision,
    createdAt: request.createdAt.toISOString(),
    decideBy: request.decideBy.toISOString(),
    decidedAt: decision?.at ?? null,
    executeBy: request.status === 'approved' ? request.execution.executeBy.toISOString() : null,
    execution: executionJson(request, audience),
    frozen,
    deliveries: deliveries.map((delivery) => deliveryJson(delivery, audience)),
  };
}

/** Who may not see the rejected request learns that there is one, and which. */
const followsJson = (
  { id, at, sameArguments, reason, by }: FollowedRejection,
  { audience, seesFollowed }: { readonly audience: Audience; readonly seesFollowed: boolean },
) => ({
  id,
  at: at.toISOString(),
  sameArguments,
  ...(seesFollowed ? { reason } : {}),
  ...(seesFollowed && audience === 'people' ? { by: personJson(by) } : {}),
});

/** Of a direct message an agent learns whether it was sent, but nothing by which a platform could name its reader. */
function deliveryJson(
  { channel, person, state, messageIds, at, error }: DeliveryRecord,
  audience: Audience,
): ConfirmationJson['deliveries'][number] {
  const shared = { channel, state, at: at.toISOString() };
  if (audience === 'people')
    return { ...shared, person: person && personJson(person), messageIds: [...messageIds], error };
  return person === null
    ? { ...shared, messageIds: [...messageIds], error }
    : { ...shared, messageIds: [], error: null };
}

export function decisionJson(request: ClosedConfirmationRequest, audience: Audience): DecisionJson {
  const { status, by, at, code } = request.decision;
  return {
    status,
    ...(audience === 'people' ? { by: by ? personJson(by) : null } : {}),
    at: at.toISOString(),
    reason: decisionReason(request, audience),
    code,
  };
}

/** People find each voter's words with the vote. An agent sees no votes, so it gets all approvers' words here, a line each. */
function decisionReason(request: ClosedConfirmationRequest, audience: Audience): string | null {
  if (request.status !== 'approved' || audience === 'people') return request.decision.reason;
  return approvalReasonsOf(request).join('\n') || null;
}

export function executionJson(request: ConfirmationRequest, audience: Audience): ExecutionJson {
  if (request.status !== 'approved') return { status: 'none', at: null, detail: null };
  const { execution } = request;
  const shared = {
    status: execution.status,
    at: 'at' in execution ? execution.at.toISOString() : null,
    detail: 'detail' in execution ? execution.detail : null,
  };
  switch (execution.status) {
    case 'unclaimed':
      return { ...shared, executableFrom: execution.executableFrom.toISOString() };
    case 'revoked':
      return {
        ...shared,
        reason: execution.reason,
        ...(audience === 'people' ? { by: execution.by && personJson(execution.by) } : {}),
      };
    case 'unknown':
      return {
        ...shared,
        settleFrom: execution.settleFrom.toISOString(),
        ...(execution.rerun === null ? {} : { runAgain: rerunJson(execution.rerun, audience) }),
      };
    case 'succeeded':
    case 'failed':
      return {
        ...shared,
        ...(audience === 'people' && execution.settledBy !== null
          ? { by: personJson(execution.settledBy) }
          : {}),
      };
    default:
      return shared;
  }
}

const rerunJson = ({ by, reason }: Rerun, audience: Audience) => ({
  reason,
  ...(audience === 'people' ? { by: personJson(by) } : {}),
});

/** Who may vote now: whoever has a seat, and whoever stands in for them. */
const peopleJson = (request: ConfirmationRequest) => ({
  approvers: [
    ...seatsOf(request).map(personJson),
    ...deputiesOf(request).map(({ person, holder }) => ({ ...personJson(person), for: personJson(holder) })),
  ],
  votes: request.votes.map(({ person, seat, verdict, reason, channel, at, seen }) => ({
    person: personJson(person),
    ...(seat.id === person.id ? {} : { for: personJson(seat) }),
    verdict,
    reason,
    channel,
    at: at.toISOString(),
    ...(seen === null ? {} : { saw: seenJson(seen) }),
  })),
});

const seenJson = ({ digest, locale, version, at }: SeenCard) => ({
  digest,
  locale,
  version,
  at: at.toISOString(),
});

const personJson = ({ id, name }: PersonRef) => ({ id, name });
