import { nearName } from '../near-name.ts';
import type { GateHook } from './hook.ts';
import { HookBuildError } from './hook-build-error.ts';
import type { AnyHook, AnyHookKind } from './hook-kind.ts';
import type { HookPorts } from './hook-ports.ts';
import { HookRegistry } from './hook-registry.ts';

export interface BuildHookRegistry {
  /** What the agent's configuration declares, in its order. */
  readonly declarations: readonly { readonly name: string; readonly options: unknown }[];
  /** Every hook that can be declared. */
  readonly kinds: readonly AnyHookKind[];
  /** Attached whether it is declared or not. */
  readonly gate: GateHook;
  readonly ports: HookPorts;
}

/**
 * Builds the hooks of one agent from its configuration. Throws a `HookBuildError` that lists every fault: an agent
 * whose hooks cannot be built does not run.
 */
export function buildHookRegistry(input: BuildHookRegistry): HookRegistry {
  const built = input.declarations
    // Declaring the gate changes nothing: there is one, last, in any case.
    .filter(({ name, options }) => name !== input.gate.name || !isEmpty(options))
    .map((declaration) => buildHook(declaration, input));
  const hooks = built.flatMap(({ hook }) => hook ?? []);
  const faults = built.flatMap((one) => one.faults);
  try {
    const options = new Map(input.declarations.map((declaration) => [declaration.name, declaration.options]));
    const registry = new HookRegistry({ hooks, gate: input.gate, options });
    if (faults.length === 0) return registry;
  } catch (error) {
    if (!(error instanceof HookBuildError)) throw error;
    faults.push(...error.faults);
  }
  throw new HookBuildError(faults);
}

interface Built {
  readonly hook: AnyHook | null;
  readonly faults: readonly string[];
}

function buildHook(declaration: BuildHookRegistry['declarations'][number], input: BuildHookRegistry): Built {
  const { name } = declaration;
  if (name === input.gate.name)
    return faulty(`hook "${name}" is attached to every agent and takes no options`);
  const kind = input.kinds.find((candidate) => candidate.name === name);
  if (!kind) return faulty(`hook "${name}" is not known${suggestion(name, input.kinds)}`);

  const options = kind.options.safeParse(declaration.options ?? {});
  if (!options.success) {
    return faulty(
      ...options.error.issues.map(
        (issue) => `hook "${name}": ${[...issue.path.map(String), issue.message].join(': ')}`,
      ),
    );
  }
  try {
    const hook = kind.create(options.data, input.ports);
    if (hook.name !== name) return faulty(`hook "${name}" calls itself "${hook.name}"`);
    return { hook, faults: [] };
  } catch (error) {
    return faulty(
      `hook "${name}" could not be created: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

const faulty = (...faults: string[]): Built => ({ hook: null, faults });

const isEmpty = (options: unknown): boolean =>
  options === undefined ||
  options === null ||
  (typeof options === 'object' && Object.keys(options).length === 0);

function suggestion(name: string, kinds: readonly AnyHookKind[]): string {
  if (kinds.length === 0) return '';
  const names = kinds.map((kind) => kind.name);
  const near = nearName(name, names);
  return near === null ? ` (there are ${names.join(', ')})` : `; did you mean "${near}"?`;
}
