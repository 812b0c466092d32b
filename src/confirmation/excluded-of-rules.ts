import type { Config, PolicyRule } from '../config/config.ts';
import { type PersonId, personId } from '../ids.ts';
import type { ConditionFacts } from './condition.ts';
import { compileExcluded } from './excluded-people.ts';

/** Whom the `excluded` of some rules name for a call; the texts are compiled once. */
export function prepareExcluded({
  policies,
  defaultPolicy,
  floor,
  people,
}: Pick<Config, 'policies' | 'defaultPolicy' | 'floor' | 'people'>) {
  const known = new Set<string>(people.map(({ id }) => id));
  const rules: readonly (PolicyRule | null)[] = [...policies, defaultPolicy, floor];
  const texts = new Set(rules.flatMap((rule) => rule?.excluded ?? []));
  const programs = new Map([...texts].map((text) => [text, compiledExcluded(text)]));
  const failed = (message: string, argument: string | null) =>
    ({ kind: 'failed', message, argument }) as const;

  return (applying: readonly PolicyRule[], facts: ConditionFacts) => {
    const found = new Set<PersonId>();
    for (const { excluded } of applying) {
      if (excluded === null) continue;
      const named = programs.get(excluded)?.evaluate(facts);
      if (named === undefined) return failed('It is not known who may not approve this call.', null);
      if (named.kind === 'failed') return named;
      for (const id of named.value) {
        // Whoever is meant and not known could approve under another name.
        if (!known.has(id)) return failed('Somebody who may not approve this call is not known here.', null);
        found.add(personId(id));
      }
    }
    return { kind: 'named', people: [...found] } as const;
  };
}

function compiledExcluded(text: string) {
  const program = compileExcluded(text);
  if (program.kind === 'faulty') throw new Error(`An excluded does not compile: ${program.message}`);
  return program;
}
