import { applyFloor } from '../confirmation/apply-floor.ts';
import { compileGlobs, globsOverlap } from '../glob.ts';
import type { PersonId } from '../ids.ts';
import { absencesIn, spanText } from './absent-voters.ts';
import type { PolicyRule } from './config.ts';
import type { Draft, Entry } from './draft.ts';
import type { FaultCollector } from './fault-collector.ts';
import type { ResolvedPolicies } from './resolved-policies.ts';

/**
 * A quorum that nobody could ever meet stops the start. One that cannot be met for some requesters is a warning: it
 * is asked again for each request, which then ends as undeliverable.
 */
export function checkQuorums(draft: Draft, resolved: ResolvedPolicies, collector: FaultCollector): void {
  for (const { path, value } of resolved.policies)
    checkQuorum(draft, { path, value }, value.tools, collector);
  if (resolved.defaultPolicy !== null) checkQuorum(draft, resolved.defaultPolicy, ['*'], collector);
  if (resolved.floor !== null) checkUnderFloor(draft, resolved, resolved.floor, collector);
}

/** What the floor leaves of each policy has to be possible too; where the floor does not always cover it, mostly. */
function checkUnderFloor(
  draft: Draft,
  { policies, defaultPolicy }: ResolvedPolicies,
  floor: NonNullable<ResolvedPolicies['floor']>,
  collector: FaultCollector,
): void {
  const { tools, when } = floor.value;
  checkQuorum(draft, floor, tools, collector);
  const rules = [
    ...policies.map(({ path, value }) => ({ path, value, tools: value.tools })),
    ...(defaultPolicy === null ? [] : [{ ...defaultPolicy, tools: ['*'] }]),
  ];
  for (const rule of rules) {
    if (!rule.tools.some((tool) => tools.some((pattern) => globsOverlap(tool, pattern)))) continue;
    const { quorum, approvers, ...left } = applyFloor(rule.value, floor.value);
    const able = ableUnder(draft, { ...left, quorum, approvers });
    // A rule that cannot be met by itself has been reported.
    if (able >= quorum || ableUnder(draft, rule.value) < rule.value.quorum) continue;
    const message = `is ${quorum} under the floor, and ${able} of these people may approve under both: name more of the floor's approvers here, or more of these there`;
    const place = [...rule.path, 'quorum'];
    if (when === null && tools.includes('*')) collector.fault(place, message);
    else collector.warning(place, message);
  }
}

const ableUnder = (draft: Draft, rule: PolicyRule): number =>
  votersOf(rule).filter((id) => canVote(draft, id, rule)).length;

/** Everybody who has a seat, at once or once it is escalated. */
const votersOf = ({ approvers, escalation }: PolicyRule): readonly PersonId[] => [
  ...new Set([...approvers, ...(escalation?.to ?? [])]),
];

function checkQuorum(
  draft: Draft,
  { path, value: rule }: Entry<PolicyRule>,
  tools: readonly string[],
  collector: FaultCollector,
): void {
  // Unknown names have been reported; what they would add is not known.
  if (rule.approvers.length === 0) {
    if (draft.people.length > 0)
      collector.fault([...path, 'approvers'], 'names nobody who could approve: name somebody who is active');
    return;
  }
  const place = [...path, 'quorum'];
  const voters = votersOf(rule);
  const able = voters.filter((id) => canVote(draft, id, rule));
  if (rule.quorum > able.length) {
    const mute = voters.filter((id) => !able.includes(id));
    const reason =
      mute.length === 0
        ? ''
        : `; ${mute.join(', ')} can vote neither in these channels nor with a consoleKey`;
    collector.fault(
      place,
      `is ${rule.quorum}, and ${able.length} active people could meet it${reason}: lower it, or name more approvers`,
    );
    return;
  }
  for (const { from, until, count } of absencesIn(draft, able))
    if (count < rule.quorum)
      collector.warning(place, `is ${rule.quorum}, and only ${count} could meet it ${spanText(from, until)}`);
  if (rule.allowSelfApproval) return;
  for (const { who, why } of possibleRequesters(draft, tools)) {
    const left = able.filter((id) => !who.includes(id)).length;
    if (left < rule.quorum)
      collector.warning(place, `is ${rule.quorum}, and only ${left} could meet it ${why}`);
  }
}

/** Without a key of their own, people vote only where a card reaches them. */
function canVote({ people, channels, names }: Draft, id: PersonId, rule: PolicyRule): boolean {
  const entry = people.find(({ value }) => value.person.id === id)?.value;
  if (entry === undefined) return false;
  // Whom an ill-formed channel reaches is not known, so nobody is reported for it.
  if (entry.person.consoleKey !== null || channels.length < names.channels.length) return true;
  return channels.some(
    ({ value }) => rule.channels.includes(value.id) && entry.channelKinds.includes(value.kind),
  );
}

/** Who may not approve, in the cases that can be foreseen: an agent's owner, and people whom a key may name. */
function* possibleRequesters({ agents, apiKeys, people, names }: Draft, tools: readonly string[]) {
  for (const { value: agent } of agents) {
    // An agent without tools lives outside and may ask about any of the external ones.
    const patterns = agent.tools.length > 0 ? agent.tools : names.externalTools;
    if (
      agent.owner === null ||
      !tools.some((tool) => patterns.some((pattern) => globsOverlap(tool, pattern)))
    )
      continue;
    yield {
      who: [agent.owner as PersonId],
      why: `where the agent ${agent.id} asks, whose owner is ${agent.owner}`,
    };
  }
  const named = compileGlobs(apiKeys.flatMap(({ value }) => value.requesters));
  for (const { value } of people)
    if (named(value.person.id))
      yield { who: [value.person.id], why: `where ${value.person.id} is the requester` };
}
