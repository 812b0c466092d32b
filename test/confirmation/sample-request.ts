import type {
  ConfirmationRequest,
  Decision,
  Execution,
  PersonRef,
  RequestFacts,
} from '../../src/confirmation/confirmation-request.ts';
import type { Vote } from '../../src/confirmation/vote.ts';
import { agentId, type ConfirmationId, personId } from '../../src/ids.ts';
import type { Verdict } from '../../src/verdict.ts';

export const LI_WEI: PersonRef = { id: personId('li.wei'), name: '李伟' };
export const WANG_FANG: PersonRef = { id: personId('wang.fang'), name: '王芳' };
export const ZHAO_MIN: PersonRef = { id: personId('zhao.min'), name: '赵敏' };

export const CREATED_AT = new Date('2026-11-30T08:20:00Z');
export const DECIDED_AT = new Date('2026-11-30T09:05:41Z');
export const EXECUTE_BY = new Date('2026-11-30T09:15:41Z');
export const SETTLED_AT = new Date('2026-11-30T09:06:12Z');

type PendingRequest = Extract<ConfirmationRequest, { status: 'pending' }>;
export type SampleChanges = Partial<Omit<RequestFacts, 'policy'>> & {
  readonly policy?: Partial<RequestFacts['policy']>;
  readonly votes?: readonly Vote[];
  readonly version?: number;
};

/** A payment of 68,000 yuan that waits for two people. */
export function pendingRequest({ policy, ...changes }: SampleChanges = {}): PendingRequest {
  return {
    id: '01980000-0000-7000-8000-000000000001' as ConfirmationId,
    organization: 'acme',
    tool: 'oa__purchase_pay',
    toolVersion: 'sha256:00',
    args: { amount: '68000.00', currency: 'CNY', payee: '上海精工机械有限公司', memo: 'PO-2026-1187 尾款' },
    argsDigest: `sha256:${'7'.repeat(64)}`,
    verificationCode: '7F3K9QZD',
    decisiveFields: [
      { role: 'amount', pointer: '/amount' },
      { role: 'currency', pointer: '/currency' },
      { role: 'payee', pointer: '/payee' },
    ],
    summary: '按合同支付设备尾款，供应商今天催了两次。',
    agent: agentId('procurement'),
    session: null,
    callId: null,
    requester: ZHAO_MIN,
    requesterNamedByAgent: false,
    agentOwner: ZHAO_MIN.id,
    runId: null,
    parentRunId: null,
    invocationId: null,
    toolIdempotent: false,
    supersedes: null,
    follows: null,
    apiKeyId: 'procurement-key',
    approvers: [LI_WEI, WANG_FANG].map((approver) => ({ ...approver, away: null })),
    createdAt: CREATED_AT,
    decideBy: new Date('2026-11-30T10:20:00Z'),
    votes: [],
    remindedAt: null,
    escalatedAt: null,
    reroutedAt: null,
    delegatedSeats: [],
    supersededBy: null,
    version: 1,
    ...changes,
    policy: {
      id: 'large-payment',
      quorum: 2,
      allowSelfApproval: false,
      channels: ['pay-feishu', 'pay-slack'],
      notify: 'group',
      fallback: null,
      decideWithinMs: 7_200_000,
      executeWithinMs: 600_000,
      outcomeWithinMs: 3_600_000,
      deliveryTimeoutMs: 900_000,
      reason: 'on-reject',
      remindAfterMs: null,
      escalation: null,
      coolOffMs: 0,
      excluded: [],
      floor: false,
      configRevision: 'sha256:01',
      ...policy,
    },
    status: 'pending',
  };
}

export const vote = (person: PersonRef, verdict: Verdict, reason: string | null = null): Vote => ({
  person,
  seat: person,
  verdict,
  reason,
  channel: 'pay-slack',
  at: DECIDED_AT,
  seen: null,
});

/** The same payment, approved by both. */
export function approvedRequest(execution: Execution, changes: SampleChanges = {}): ConfirmationRequest {
  return {
    ...pendingRequest({
      votes: [vote(LI_WEI, 'approve'), vote(WANG_FANG, 'approve')],
      version: 3,
      ...changes,
    }),
    status: 'approved',
    decision: { status: 'approved', by: WANG_FANG, at: DECIDED_AT, reason: null, code: 'approved' },
    execution,
  };
}

/** The same payment, closed without an approval. */
export function closedRequest(
  decision: Partial<Decision> & { readonly status: Exclude<Decision['status'], 'approved'> },
  changes: SampleChanges = {},
): ConfirmationRequest {
  return {
    ...pendingRequest({ version: 2, ...changes }),
    status: decision.status,
    decision: { by: null, at: DECIDED_AT, reason: null, code: decision.status, ...decision },
  };
}
