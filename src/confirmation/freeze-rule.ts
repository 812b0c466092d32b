import type { AbsenceConfig } from '../config/config.ts';
import { CountersignError } from '../errors.ts';
import type { FrozenApprover } from './frozen-approver.ts';
import type { FrozenPolicy } from './frozen-policy.ts';
import type { PersonDirectory } from './person-directory.ts';
import type { DecidingPolicy } from './policy-evaluator.ts';

/** The deciding rule as it goes into a request, with everybody it names by name. */
export const freezePolicy = (
  policy: DecidingPolicy,
  ports: { readonly configRevision: string; readonly people: PersonDirectory },
): FrozenPolicy => ({
  id: policy.id,
  quorum: policy.quorum,
  allowSelfApproval: policy.allowSelfApproval,
  channels: [...policy.channels],
  notify: policy.notify,
  fallback: policy.fallback && { ...policy.fallback, channels: [...policy.fallback.channels] },
  decideWithinMs: policy.decideWithinMs,
  executeWithinMs: policy.executeWithinMs,
  outcomeWithinMs: policy.outcomeWithinMs,
  deliveryTimeoutMs: policy.deliveryTimeoutMs,
  reason: policy.reason,
  remindAfterMs: policy.remindAfterMs,
  escalation: policy.escalation && {
    afterMs: policy.escalation.afterMs,
    people: policy.escalation.to.map((id) => freezeApprover(id, ports.people)),
  },
  coolOffMs: policy.coolOffMs,
  excluded: [...policy.excludedPeople],
  floor: policy.floor,
  configRevision: ports.configRevision,
});

/** A person with the absence that is planned for them now, and whoever stands in for them. */
export function freezeApprover(id: string, people: PersonDirectory): FrozenApprover {
  const person = people.byId(id);
  if (!person)
    throw new CountersignError('unknown_requester', `There is no person ${id} in the configuration.`);
  const absence = people.absenceOf(id);
  return {
    id: person.id,
    name: person.name,
    away: absence && { ...spanOf(absence), delegate: delegateOf(absence, people) },
  };
}

function delegateOf(
  { delegate }: AbsenceConfig,
  people: PersonDirectory,
): NonNullable<FrozenApprover['away']>['delegate'] {
  const person = delegate === null ? null : people.byId(delegate);
  if (!person) return null;
  const absence = people.absenceOf(person.id);
  return { id: person.id, name: person.name, away: absence && spanOf(absence) };
}

const spanOf = ({ from, until }: AbsenceConfig) => ({
  from: from?.toISOString() ?? null,
  until: until?.toISOString() ?? null,
});
