import type { Config } from '../config/config.ts';
import { type AgentId, agentId, type PersonId, personId } from '../ids.ts';
import { explainRequest } from './explain-request.ts';
import type { Explanation } from './explanation.ts';
import { freezeApprover, freezePolicy } from './freeze-rule.ts';
import { freezeExplanation } from './frozen-explanation.ts';
import { createPolicyEvaluator, type PolicyQuestion } from './policy-evaluator.ts';
import type { PolicyTrial } from './policy-trial.ts';
import { createRoster } from './roster.ts';

/** What would be asked about a call that has not happened, by the same evaluation and the same explanation. */
export function explainCall(input: {
  readonly config: Config;
  readonly question: PolicyQuestion;
  readonly agentOwner: PersonId | null;
  readonly now: Date;
}): Explanation {
  const { config, question, agentOwner, now } = input;
  const people = createRoster(config.people);
  const { requester: requesterId, tool, flagged } = question;
  const requester = requesterId === null ? null : people.byId(personId(requesterId));
  const agent: AgentId = agentId(question.agent);
  const trials: PolicyTrial[] = [];
  const answer = createPolicyEvaluator(config).evaluate(question, trials);
  if (answer.kind !== 'policy')
    return {
      call: {
        ...{ tool, agent, agentOwner, flagged, argsDigest: null, verificationCode: null },
        requester: requester && { id: requester.id, name: requester.name },
      },
      answer:
        answer.kind === 'none'
          ? { kind: 'allowed' }
          : { kind: 'denied', message: answer.message, argument: answer.argument },
      trials,
      configRevision: config.revision,
      rule: null,
      people: [],
      quorum: null,
      now: null,
    };
  const { policy } = answer;
  return explainRequest({
    request: {
      ...{ tool, agent, agentOwner },
      requester: requester && { id: requester.id, name: requester.name },
      policy: freezePolicy(policy, { configRevision: config.revision, people }),
      approvers: policy.approvers.map((id) => freezeApprover(id, people)),
      status: 'pending',
      votes: [],
      createdAt: now,
      decideBy: new Date(now.getTime() + policy.decideWithinMs),
      escalatedAt: null,
      delegatedSeats: [],
    },
    frozen: freezeExplanation({ policy, trials, flagged, people }),
    people,
    moment: null,
  });
}
