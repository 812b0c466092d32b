import type { ChannelAddress } from '../channel/channel.ts';
import { type ChannelId, channelId, newConfirmationId } from '../ids.ts';
import type { ConfirmationRequest } from './confirmation-request.ts';
import { verificationCodeOf } from './digest.ts';
import { freezeApprover, freezePolicy } from './freeze-rule.ts';
import type { FrozenApprover } from './frozen-approver.ts';
import { type FrozenExplanation, freezeExplanation } from './frozen-explanation.ts';
import type { FrozenPolicy } from './frozen-policy.ts';
import type { LockedRequest, NewConfirmation } from './ledger.ts';
import type { PersonDirectory } from './person-directory.ts';
import { DEFAULT_POLICY_ID, type DecidingPolicy, type PolicyEvaluator } from './policy-evaluator.ts';
import type { PolicyTrial } from './policy-trial.ts';
import type { ToolFacts } from './tool-facts.ts';

export interface RerunPorts {
  readonly configRevision: string;
  readonly people: PersonDirectory;
  readonly policies: PolicyEvaluator;
  readonly toolFacts: ToolFacts;
  readonly addresses: ReadonlyMap<ChannelId, ChannelAddress>;
  readonly verificationKey: string;
}

/**
 * Whether running a call again can do no more than running it once: a call of one of our runs, which we send under the
 * same `Idempotency-Key`, of a tool that was and is declared idempotent and has not changed since.
 */
export const isRepeatable = (request: ConfirmationRequest, toolFacts: ToolFacts): boolean =>
  request.runId !== null &&
  request.invocationId !== null &&
  request.toolIdempotent &&
  toolFacts.isIdempotent(request.tool) &&
  toolFacts.versionOf(request.tool) === request.toolVersion;

/**
 * The question whether a call of unknown outcome may run again: the same call to the letter, asked under the rule of
 * today, and never under less than it was approved by. `failed`: no rule can be chosen for it today.
 */
export function rerunOf(
  { request, toolWrites, connector }: LockedRequest,
  frozenThen: FrozenExplanation | null,
  ports: RerunPorts,
): { readonly kind: 'asks'; readonly facts: NewConfirmation } | { readonly kind: 'failed' } {
  const rule = ruleOf(request, frozenThen, ports);
  if (rule === null) return { kind: 'failed' };
  const id = newConfirmationId();
  const { argsDigest } = request;
  return {
    kind: 'asks',
    facts: {
      id,
      organization: request.organization,
      tool: request.tool,
      toolVersion: request.toolVersion,
      args: request.args,
      argsDigest,
      verificationCode: verificationCodeOf({ id, argsDigest, key: ports.verificationKey }),
      decisiveFields: request.decisiveFields,
      toolTimeoutMs: ports.toolFacts.timeoutMsOf(request.tool),
      toolWrites,
      toolIdempotent: true,
      connector,
      summary: request.summary,
      metadata: {},
      agent: request.agent,
      session: request.session,
      callId: request.callId,
      requester: request.requester,
      requesterNamedByAgent: request.requesterNamedByAgent,
      agentOwner: request.agentOwner,
      runId: request.runId,
      parentRunId: request.parentRunId,
      invocationId: request.invocationId,
      supersedes: request.id,
      apiKeyId: request.apiKeyId,
      idempotencyKey: null,
      bodyDigest: null,
      ...rule,
      deliveries: deliveriesOf(rule.policy, ports),
    },
  };
}

interface Rule {
  readonly policy: FrozenPolicy;
  readonly approvers: readonly FrozenApprover[];
  readonly explanation: FrozenExplanation;
}

function ruleOf(
  request: ConfirmationRequest,
  frozenThen: FrozenExplanation | null,
  ports: RerunPorts,
): Rule | null {
  const trials: PolicyTrial[] = [];
  // Whether the tool or its agent asks for a confirmation whatever policies say was the default rule's reason then.
  const flagged = request.policy.id === DEFAULT_POLICY_ID;
  const answer = ports.policies.evaluate(
    {
      tool: request.tool,
      args: request.args,
      agent: request.agent,
      requester: request.requester.id,
      session: request.session ?? '',
      metadata: {},
      flagged,
    },
    trials,
  );
  switch (answer.kind) {
    case 'failed':
      return null;
    case 'none':
      // Nobody would be asked today. A payment that may have been made is still no matter of course.
      return {
        policy: request.policy,
        approvers: request.approvers,
        explanation: frozenThen ?? { trials, flagged, named: [] },
      };
    case 'policy': {
      const { policy } = answer;
      return {
        policy: strictest(policy, request.policy, ports),
        approvers: policy.approvers.map((approver) => freezeApprover(approver, ports.people)),
        explanation: freezeExplanation({ policy, trials, flagged, people: ports.people }),
      };
    }
  }
}

/** Today's people under today's rule, tightened where the one that was frozen asked for more. */
function strictest(today: DecidingPolicy, then: FrozenPolicy, ports: RerunPorts): FrozenPolicy {
  const now = freezePolicy(today, ports);
  return {
    ...now,
    quorum: Math.max(now.quorum, then.quorum),
    allowSelfApproval: now.allowSelfApproval && then.allowSelfApproval,
    coolOffMs: Math.max(now.coolOffMs, then.coolOffMs),
    excluded: [...new Set([...now.excluded, ...then.excluded])],
  };
}

/** A channel of the rule of then may be gone; where all are, the request ends as undeliverable. */
const deliveriesOf = (
  { channels }: FrozenPolicy,
  { addresses }: RerunPorts,
): ReadonlyMap<ChannelId, ChannelAddress> =>
  new Map(
    channels.flatMap((name) => {
      const address = addresses.get(channelId(name));
      return address ? [[channelId(name), address] as const] : [];
    }),
  );
