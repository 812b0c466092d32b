import type { AnyHookKind } from '../hook/hook-kind.ts';
import { agentId, personId } from '../ids.ts';
import type { AgentEntry } from './agents-section.ts';
import type { AgentConfig, HookDeclaration } from './config.ts';
import type { ConfigPath } from './config-fault.ts';
import type { Draft } from './draft.ts';
import { checkShape, nearest } from './schema-faults.ts';
import type { YamlSource } from './yaml-source.ts';

/** Checks what agents refer to: a model, an owner, other agents, and hooks with the options of their kind. */
export function resolveAgents(
  draft: Draft,
  source: YamlSource,
  hookKinds: readonly AnyHookKind[],
): readonly AgentConfig[] {
  const { names } = draft;
  const people = names.people.map(({ name }) => name);
  const agents = names.agents.map(({ name }) => name);
  const hasModel = new Map(draft.agents.map(({ value }) => [value.id, value.model !== null]));

  return draft.agents.map(({ path, value: agent }) => {
    const expect = (place: ConfigPath, what: string, name: string, known: readonly string[]): void => {
      if (!known.includes(name))
        source.collector.fault(
          [...path, ...place],
          `names ${what} that is not there: ${name}${nearest(name, known)}`,
        );
    };
    if (agent.model !== null) expect(['model'], 'a model', agent.model, names.models);
    if (agent.owner !== null) expect(['owner'], 'a person', agent.owner, people);
    for (const [index, delegate] of agent.delegates.entries()) {
      expect(['delegates', index], 'an agent', delegate, agents);
      if (hasModel.get(delegate) === false)
        source.collector.fault(
          [...path, 'delegates', index],
          `has no model and cannot be called: ${delegate}`,
        );
    }
    const { id, model, owner, delegates, hooks, ...rest } = agent;
    return {
      ...rest,
      id: agentId(id),
      model,
      owner: owner === null ? null : personId(owner),
      delegates: delegates.map(agentId),
      hooks: hooks.class_hooks.flatMap((hook, index) =>
        declaredHook(source, [...path, 'hooks', 'class_hooks', index], hook, hookKinds),
      ),
    };
  });
}

/** The gate is attached to every agent and always last, so that declaring it says nothing new. */
const GATE = 'confirmation-gate';

function declaredHook(
  source: YamlSource,
  path: ConfigPath,
  { name, options, place }: AgentEntry['hooks']['class_hooks'][number],
  hookKinds: readonly AnyHookKind[],
): HookDeclaration[] {
  const kind = hookKinds.find((candidate) => candidate.name === name);
  if (kind !== undefined) {
    const checked: unknown = checkShape(source, [...path, ...place], kind.options, options);
    return checked === null ? [] : [{ name, options: checked }];
  }
  const known = [...hookKinds.map((candidate) => candidate.name), GATE];
  if (name !== GATE)
    source.collector.fault(path, `names a hook that nobody has: ${name}${nearest(name, known)}`);
  else if (Object.keys(options).length > 0) source.collector.fault(path, 'takes no options');
  return [];
}
