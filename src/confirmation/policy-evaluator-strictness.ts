import type { PolicyRule } from '../config/config.ts';
import type { PersonId } from '../ids.ts';
import { REASON_MODES } from '../verdict.ts';

/**
 * Whether `rule` asks for all that `other` asks for, or more: at least as many people, nobody who could not approve
 * under the other, no self-approval that the other refuses, a reason wherever the other wants one, and a grant that
 * lives no longer; nobody asked by escalation who could not approve under the other, the same people excluded, and
 * at least as long a cool-off. The channels and the time for deciding say where and how long people are asked, not what it takes
 * to approve, and are not compared.
 */
export const isAtLeastAsStrict = (rule: PolicyRule, other: PolicyRule): boolean =>
  rule.quorum >= other.quorum &&
  rule.approvers.every((person) => other.approvers.includes(person)) &&
  (!rule.allowSelfApproval || other.allowSelfApproval) &&
  REASON_MODES.indexOf(rule.reason) >= REASON_MODES.indexOf(other.reason) &&
  rule.executeWithinMs <= other.executeWithinMs &&
  (rule.escalation?.to ?? []).every((person) => mayVote(other, person)) &&
  (other.excluded === null || rule.excluded === other.excluded) &&
  rule.coolOffMs >= other.coolOffMs;

const mayVote = ({ approvers, escalation }: PolicyRule, person: PersonId): boolean =>
  approvers.includes(person) || escalation?.to.includes(person) === true;
