import { z } from 'zod';
import { type PersonId, personId } from '../ids.ts';
import type { PersonDirectory } from './person-directory.ts';
import type { DecidingPolicy } from './policy-evaluator.ts';
import { type PolicyTrial, policyTrial } from './policy-trial.ts';

/** What a request keeps of how its rule was found; beside it stand the frozen policy and the frozen approvers. */
export const frozenExplanation = z.object({
  /** Every rule that was tried, in order; the floor last. */
  trials: z.array(policyTrial),
  /** The tool requires a confirmation, or the agent has every call confirmed. */
  flagged: z.boolean(),
  /** Everybody whom the deciding rule names, in its order. */
  named: z.array(
    z.object({
      id: z.string().transform(personId),
      name: z.string(),
      /** `group:finance`, `person:li.wei`; more than one where both name them. */
      through: z.array(z.string()),
      active: z.boolean(),
      /** False where the floor does not name them as well. */
      allowedByFloor: z.boolean(),
    }),
  ),
});
export type FrozenExplanation = z.infer<typeof frozenExplanation>;

export function freezeExplanation(input: {
  readonly policy: DecidingPolicy;
  readonly trials: readonly PolicyTrial[];
  readonly flagged: boolean;
  readonly people: PersonDirectory;
}): FrozenExplanation {
  const { policy, trials, flagged, people } = input;
  const through = new Map<PersonId, string[]>(policy.approvers.map((id) => [id, []]));
  for (const { by, people: members } of policy.named)
    for (const id of members) through.set(id, [...(through.get(id) ?? []), by]);
  return {
    trials: [...trials],
    flagged,
    named: [...through].map(([id, entries]) => {
      const person = people.byId(id);
      const active = person?.active === true;
      const isApprover = policy.approvers.includes(id);
      return {
        id,
        name: person?.name ?? id,
        through: entries,
        active,
        allowedByFloor: isApprover || !active || !policy.floor,
      };
    }),
  };
}
