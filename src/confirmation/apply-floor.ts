import type { FloorConfig, PolicyRule } from '../config/config.ts';
import { REASON_MODES } from '../verdict.ts';

/**
 * The rule with nothing in it below the floor: the larger quorum, only people who may approve under both, the
 * stricter of everything else. Whom to ask where, and when to remind them, stays the rule's own.
 */
export function applyFloor(rule: PolicyRule, floor: FloorConfig): PolicyRule {
  const allowed = new Set([...floor.approvers, ...(floor.escalation?.to ?? [])]);
  const added = rule.escalation?.to.filter((person) => allowed.has(person)) ?? [];
  return {
    ...rule,
    quorum: Math.max(rule.quorum, floor.quorum),
    approvers: rule.approvers.filter((person) => floor.approvers.includes(person)),
    allowSelfApproval: rule.allowSelfApproval && floor.allowSelfApproval,
    decideWithinMs: Math.min(rule.decideWithinMs, floor.limits.decideWithinMs ?? rule.decideWithinMs),
    executeWithinMs: Math.min(rule.executeWithinMs, floor.limits.executeWithinMs ?? rule.executeWithinMs),
    reason: stricter(rule.reason, floor.reason),
    escalation: rule.escalation && added.length > 0 ? { ...rule.escalation, to: added } : null,
    coolOffMs: Math.max(rule.coolOffMs, floor.coolOffMs),
  };
}

const stricter = (a: PolicyRule['reason'], b: PolicyRule['reason']): PolicyRule['reason'] =>
  REASON_MODES.indexOf(a) >= REASON_MODES.indexOf(b) ? a : b;
