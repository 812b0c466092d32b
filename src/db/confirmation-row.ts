import { z } from 'zod';
import {
  type ConfirmationRequest,
  type Decision,
  type DecisiveField,
  type Execution,
  type PersonRef,
  REVOCATION_DETAILS,
  type RequestFacts,
  type Rerun,
  type Revocation,
} from '../confirmation/confirmation-request.ts';
import { followedRejection } from '../confirmation/followed-rejection.ts';
import { frozenApprover } from '../confirmation/frozen-approver.ts';
import { frozenPolicy } from '../confirmation/frozen-policy.ts';
import type { SeenCard } from '../confirmation/seen-card.ts';
import { UnreadableConfirmation } from '../confirmation/unreadable-confirmation.ts';
import type { Vote } from '../confirmation/vote.ts';
import type { BlockCode } from '../errors.ts';
import { agentId, type ConfirmationId, type InvocationId, personId, type RunId } from '../ids.ts';
import type { JsonObject } from '../json.ts';
import type { confirmations, votes } from './schema/confirmations.ts';

export type ConfirmationRow = typeof confirmations.$inferSelect;
export type VoteRow = Pick<
  typeof votes.$inferSelect,
  | 'personId'
  | 'personName'
  | 'seatId'
  | 'seatName'
  | 'verdict'
  | 'reason'
  | 'channel'
  | 'at'
  | 'seenDelivery'
  | 'seenVersion'
  | 'seenDigest'
  | 'seenLocale'
  | 'seenAt'
>;

/** Reads a row and its votes back as the union. Throws `UnreadableConfirmation` where the row is no state that can be. */
export function confirmationOf(row: ConfirmationRow, voteRows: readonly VoteRow[]): ConfirmationRequest {
  try {
    return stateOf(row, voteRows);
  } catch (error) {
    throw new UnreadableConfirmation(row.id as ConfirmationId, error);
  }
}

function stateOf(row: ConfirmationRow, voteRows: readonly VoteRow[]): ConfirmationRequest {
  const shared = {
    ...factsOf(row),
    votes: voteRows.map(voteOf),
    remindedAt: row.remindedAt,
    escalatedAt: row.escalatedAt,
    reroutedAt: row.reroutedAt,
    delegatedSeats: row.delegatedSeats.map(personId),
    supersededBy: row.supersededBy,
    version: row.version,
  };
  if (row.status === 'pending') return { ...shared, status: 'pending' };
  const decision = decisionOf(row);
  if (row.status === 'approved')
    return { ...shared, status: 'approved', decision, execution: executionOf(row) };
  return { ...shared, status: row.status, decision };
}

const frozenApprovers = z.array(frozenApprover);
const decisiveFields = z.array(
  z.object({ role: z.enum(['amount', 'currency', 'payee', 'other']), pointer: z.string() }),
);

function factsOf(row: ConfirmationRow): RequestFacts {
  return {
    id: row.id as ConfirmationId,
    organization: row.organization,
    tool: row.tool,
    toolVersion: row.toolVersion,
    args: row.args as JsonObject,
    argsDigest: row.argsDigest,
    verificationCode: row.verificationCode,
    decisiveFields: decisiveFields.parse(row.decisiveFields) satisfies readonly DecisiveField[],
    summary: row.summary,
    agent: agentId(row.agent),
    session: row.session,
    callId: row.callId,
    requester: { id: personId(row.requesterId), name: row.requesterName },
    requesterNamedByAgent: row.requesterNamedByAgent,
    agentOwner: row.agentOwner === null ? null : personId(row.agentOwner),
    runId: row.runId as RunId | null,
    parentRunId: row.parentRunId as RunId | null,
    invocationId: row.invocationId as InvocationId | null,
    toolIdempotent: row.toolIdempotent,
    supersedes: row.supersedes,
    follows: row.follows === null ? null : followedRejection.parse(row.follows),
    apiKeyId: row.apiKeyId,
    policy: frozenPolicy.parse(row.policy),
    approvers: frozenApprovers.parse(row.approvers),
    createdAt: row.createdAt,
    decideBy: row.decideBy,
  };
}

const voteOf = (row: VoteRow): Vote => ({
  person: { id: personId(row.personId), name: row.personName },
  seat: { id: personId(row.seatId), name: row.seatName },
  verdict: row.verdict,
  reason: row.reason,
  channel: row.channel,
  at: row.at,
  seen: seenOf(row),
});

function seenOf(row: VoteRow): SeenCard | null {
  const { seenDelivery: delivery, seenVersion: version, seenDigest: digest, seenLocale: locale } = row;
  const { seenAt: at } = row;
  if (delivery === null || version === null || digest === null || locale === null || at === null) return null;
  return { delivery, version, digest, locale, at };
}

function decisionOf(row: ConfirmationRow): Decision {
  if (row.status === 'pending') throw new Error(`Confirmation ${row.id} is pending and has no decision`);
  return {
    status: row.status,
    by: decidedBy(row),
    at: present(row, 'decidedAt'),
    reason: row.decisionReason,
    code: present(row, 'decisionCode') as BlockCode | 'approved',
  };
}

const decidedBy = (row: ConfirmationRow): PersonRef | null =>
  row.decidedById === null
    ? null
    : { id: personId(row.decidedById), name: row.decidedByName ?? row.decidedById };

function executionOf(row: ConfirmationRow): Execution {
  const executeBy = present(row, 'executeBy');
  switch (row.executionStatus) {
    case 'unclaimed':
      return {
        status: 'unclaimed',
        executableFrom: present(row, 'executableFrom'),
        executeBy,
        coolingOff: row.coolingOff,
      };
    case 'claimed':
      return { status: 'claimed', at: present(row, 'claimedAt'), executeBy, sendBy: present(row, 'sendBy') };
    case 'succeeded':
    case 'failed':
      return {
        status: row.executionStatus,
        at: present(row, 'executionAt'),
        executeBy,
        detail: row.executionDetail,
        source: present(row, 'executionSource'),
        settledBy: settledBy(row),
      };
    case 'unknown':
      return {
        status: 'unknown',
        at: present(row, 'executionAt'),
        executeBy,
        detail: row.executionDetail,
        source: present(row, 'executionSource'),
        settleFrom: present(row, 'settleFrom'),
        settleOpen: row.settleOpen,
        rerun: rerunOf(row),
      };
    case 'lapsed':
      return { status: 'lapsed', at: present(row, 'executionAt'), executeBy, detail: row.executionDetail };
    case 'revoked':
      return { status: 'revoked', at: present(row, 'executionAt'), executeBy, ...revocationOf(row) };
    case 'none':
      throw new Error(`Confirmation ${row.id} is approved without a grant`);
  }
}

const settledBy = (row: ConfirmationRow): PersonRef | null =>
  row.settledById === null
    ? null
    : { id: personId(row.settledById), name: row.settledByName ?? row.settledById };

function rerunOf(row: ConfirmationRow): Rerun | null {
  const by = settledBy(row);
  if (by === null || row.supersededBy === null) return null;
  return { by, reason: row.rerunReason ?? '', confirmation: row.supersededBy };
}

function revocationOf(row: ConfirmationRow): Revocation {
  const detail = REVOCATION_DETAILS.find((known) => known === row.executionDetail);
  return {
    // Before there were codes for it, the detail of a withdrawal was what the person wrote.
    detail: detail ?? 'cancelled',
    by:
      row.revokedById === null
        ? null
        : { id: personId(row.revokedById), name: row.revokedByName ?? row.revokedById },
    reason: detail === undefined ? row.executionDetail : row.revokeReason,
  };
}

function present<Key extends keyof ConfirmationRow>(
  row: ConfirmationRow,
  key: Key,
): NonNullable<ConfirmationRow[Key]> {
  const value = row[key];
  if (value === null || value === undefined) throw new Error(`Confirmation ${row.id} lacks ${key}`);
  return value as NonNullable<ConfirmationRow[Key]>;
}
