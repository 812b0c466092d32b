import { compileGlobs } from '../glob.ts';
import { approvingVotesOf } from './approvals.ts';
import type { ConfirmationRequest, Execution, PersonRef } from './confirmation-request.ts';
import type { ExplainedNow, ExplainedPerson, ExplainedQuorum, Explanation, Obstacle } from './explanation.ts';
import type { Freeze } from './freeze.ts';
import type { FrozenApprover } from './frozen-approver.ts';
import type { FrozenExplanation } from './frozen-explanation.ts';
import type { PersonDirectory } from './person-directory.ts';
import { escalatedSeatsOf, isAwayThroughout } from './seats.ts';

/**
 * Why a request was made and who could approve it, from what was frozen into it and what has been recorded since. A
 * changed configuration changes nothing of it, but that people who have left are marked while the request is open.
 * What stops the call at the moment stands apart, in `now`.
 */
export function explainRequest(input: {
  readonly request: ExplainableRequest;
  /** Null for a request from before this was kept. */
  readonly frozen: FrozenExplanation | null;
  readonly people: PersonDirectory;
  /** How things stand now; null for a call that is only thought of. */
  readonly moment: Moment | null;
}): Explanation {
  const { request, frozen, moment } = input;
  return {
    call: {
      tool: request.tool,
      agent: request.agent,
      requester: request.requester,
      agentOwner: request.agentOwner,
      flagged: frozen?.flagged ?? null,
      argsDigest: request.argsDigest ?? null,
      verificationCode: request.verificationCode ?? null,
    },
    answer: { kind: 'asked', policy: request.policy.id, status: request.status },
    trials: frozen?.trials ?? null,
    configRevision: request.policy.configRevision,
    rule: request.policy,
    people: explainedPeople(input),
    quorum: explainedQuorum(request),
    now: moment && explainedNow(request, moment),
  };
}

/** What may keep a stored request's call from running at this moment. */
export interface Moment {
  /** Those that have not ended. */
  readonly freezes: readonly Freeze[];
  readonly readOnly: ExplainedNow['readOnly'];
  /** The version of its tool by now, as `ToolFacts.versionOf` says it. */
  readonly toolVersion: string | null | undefined;
}

/** A stored request, or one that has only been thought of. */
export type ExplainableRequest = Pick<
  ConfirmationRequest,
  | 'tool'
  | 'agent'
  | 'agentOwner'
  | 'policy'
  | 'approvers'
  | 'votes'
  | 'status'
  | 'createdAt'
  | 'decideBy'
  | 'escalatedAt'
  | 'delegatedSeats'
> & {
  readonly requester: PersonRef | null;
  readonly argsDigest?: string;
  readonly verificationCode?: string;
  readonly toolVersion?: string | null;
  readonly execution?: Execution;
};

function explainedNow(request: ExplainableRequest, { freezes, readOnly, toolVersion }: Moment): ExplainedNow {
  const { execution } = request;
  const isOpen =
    request.status === 'pending' || (request.status === 'approved' && execution?.status === 'unclaimed');
  return {
    freezes: freezes
      .filter(({ tools }) => compileGlobs(tools)(request.tool))
      .map(({ id, tools, reason, startedAt, startedBy }) => ({
        id,
        tools,
        reason,
        startedAt: startedAt.toISOString(),
        startedBy: refOf(startedBy),
        holdsRequest: isOpen,
      })),
    readOnly: isOpen ? readOnly : null,
    toolChanged: isOpen && toolVersion !== request.toolVersion,
    coolingOffUntil:
      execution?.status === 'unclaimed' && execution.coolingOff
        ? execution.executableFrom.toISOString()
        : null,
  };
}

function explainedPeople({
  request,
  frozen,
  people,
}: Parameters<typeof explainRequest>[0]): readonly ExplainedPerson[] {
  const { policy, approvers } = request;
  const seats = new Map<string, FrozenApprover>(approvers.map((seat) => [seat.id, seat]));
  const life = { from: request.createdAt, until: request.decideBy };
  const notEscalated = request.escalatedAt === null ? (['not_escalated'] as const) : [];
  const hasLeft = (id: string) => request.status === 'pending' && people.byId(id)?.active !== true;

  /** What holds for a person whatever seat they sit in. */
  const conflictsOf = (id: string, mayDecideOwn: boolean): Obstacle[] => [
    ...(!mayDecideOwn && request.requester?.id === id ? (['requester'] as const) : []),
    ...(!mayDecideOwn && request.agentOwner === id ? (['agent_owner'] as const) : []),
    ...(policy.excluded.includes(id) ? (['excluded'] as const) : []),
    ...(hasLeft(id) ? (['inactive_now'] as const) : []),
  ];
  const awayOf = ({ id, away }: FrozenApprover): ExplainedPerson['away'] => {
    if (away === null) return null;
    const { from, until, delegate } = away;
    if (delegate === null) return { from, until, delegate: null };
    const obstacles: readonly Obstacle[] = [
      // Nobody approves their own request for somebody else, whatever the policy allows approvers.
      ...conflictsOf(delegate.id, false),
      ...(seats.has(delegate.id) ? (['has_a_seat'] as const) : []),
      ...(isAwayThroughout(delegate.away, life) ? (['away'] as const) : []),
    ];
    const isSeated = request.delegatedSeats.some((holder) => holder === id);
    return { from, until, delegate: { person: refOf(delegate), isSeated, obstacles } };
  };
  const explained = (
    person: PersonRef,
    through: readonly string[],
    seat: FrozenApprover | undefined,
    more: readonly Obstacle[],
  ): ExplainedPerson => {
    const conflicts = conflictsOf(person.id, policy.allowSelfApproval);
    const obstacles = [
      ...more,
      ...(more.includes('inactive_then') ? conflicts.filter((code) => code !== 'inactive_now') : conflicts),
      ...(seat !== undefined && isAwayThroughout(seat.away, life) ? (['away'] as const) : []),
    ];
    const mayApprove = seat !== undefined && obstacles.length === 0;
    return { person: refOf(person), through, mayApprove, obstacles, away: seat ? awayOf(seat) : null };
  };

  const named = frozen?.named ?? approvers.map(namedByNothing);
  return [
    ...named.map(({ id, name, through, active, allowedByFloor }) =>
      explained({ id, name }, through, seats.get(id), [
        ...(active ? [] : (['inactive_then'] as const)),
        ...(allowedByFloor ? [] : (['below_floor'] as const)),
      ]),
    ),
    ...escalatedSeatsOf(request).map((seat) => explained(seat, ['escalation'], seat, notEscalated)),
  ];
}

const namedByNothing = ({ id, name }: PersonRef) => ({
  ...{ id, name, through: [] },
  ...{ active: true, allowedByFloor: true },
});

const refOf = ({ id, name }: PersonRef): PersonRef => ({ id, name });

function explainedQuorum(request: ExplainableRequest): ExplainedQuorum {
  const approvedBy = approvingVotesOf(request).map(({ person, seat }) => ({
    person: refOf(person),
    seat: refOf(seat),
  }));
  const { quorum: needed } = request.policy;
  return {
    needed,
    given: approvedBy.length,
    missing: request.status === 'approved' ? 0 : Math.max(0, needed - approvedBy.length),
    approvedBy,
  };
}
