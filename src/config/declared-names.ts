import { type ConfigPath, formatPath } from './config-fault.ts';

/** A name, and the entry that declares it. */
export interface Declared {
  readonly name: string;
  readonly path: ConfigPath;
}

/**
 * What a file declares, taken from its plain values: an entry with a fault of its own still has its name, so that
 * one fault does not make a dozen out of everything that refers to it.
 */
export interface DeclaredNames {
  readonly people: readonly Declared[];
  readonly groups: readonly string[];
  readonly channels: readonly Declared[];
  readonly policies: readonly Declared[];
  readonly models: readonly string[];
  readonly agents: readonly Declared[];
  readonly apiKeys: readonly Declared[];
  readonly connectors: readonly Declared[];
  /** Full names of connector tools; for a connector whose tools are not known, one pattern. */
  readonly tools: readonly Declared[];
  readonly externalTools: readonly string[];
}

export function declaredNames(root: unknown): DeclaredNames {
  const declaredIn = (section: string): Declared[] =>
    listOf(fieldOf(root, section)).flatMap((entry, index) => named(fieldOf(entry, 'id'), [section, index]));
  return {
    people: declaredIn('people'),
    groups: [
      ...new Set(listOf(fieldOf(root, 'people')).flatMap((person) => textsOf(fieldOf(person, 'groups')))),
    ],
    channels: declaredIn('channels'),
    policies: declaredIn('policies'),
    models: Object.keys((fieldOf(root, 'models') ?? {}) as object),
    agents: declaredIn('agents'),
    apiKeys: declaredIn('apiKeys'),
    connectors: declaredIn('connectors'),
    tools: listOf(fieldOf(root, 'connectors')).flatMap(toolsOf),
    externalTools: textsOf(fieldOf(root, 'externalTools')),
  };
}

function toolsOf(connector: unknown, index: number): Declared[] {
  const id = fieldOf(connector, 'id');
  if (typeof id !== 'string') return [];
  if (fieldOf(connector, 'kind') === 'mcp') return [{ name: `${id}__*`, path: ['connectors', index] }];
  return listOf(fieldOf(connector, 'tools')).flatMap((tool, toolIndex) => {
    const name = fieldOf(tool, 'name');
    return typeof name === 'string'
      ? [{ name: fullToolName(id, name), path: ['connectors', index, 'tools', toolIndex] }]
      : [];
  });
}

export const fullToolName = (connector: string, tool: string): string => `${connector}__${tool}`;

/** The second and further ones of each name, with the place of the first. */
export function repeatedIn(
  declared: readonly Declared[],
): { readonly path: ConfigPath; readonly first: string }[] {
  const firsts = new Map<string, string>();
  return declared.flatMap(({ name, path }) => {
    const first = firsts.get(name);
    if (first !== undefined) return [{ path, first }];
    firsts.set(name, formatPath(path));
    return [];
  });
}

const named = (name: unknown, path: ConfigPath): Declared[] =>
  typeof name === 'string' ? [{ name, path }] : [];
const textsOf = (value: unknown): string[] => listOf(value).filter((item) => typeof item === 'string');
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const fieldOf = (value: unknown, key: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? (value as Record<string, unknown>)[key]
    : undefined;
