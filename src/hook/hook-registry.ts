import { GateHook } from './hook.ts';
import { HookBuildError } from './hook-build-error.ts';
import { type HookChain, hookChainOf } from './hook-chain.ts';
import type { AnyHookPoint } from './hook-point.ts';
import { HOOK_POINTS } from './hook-point.ts';
import type { RegisteredHook, RegistrableHook } from './registered-hook.ts';
import { registerHook } from './registered-hook.ts';

/**
 * The hooks of one agent, by point and in the order in which they run: lower priority first, within one priority as
 * given, the confirmation gate after all others. Never changes once it is built.
 */
export class HookRegistry {
  /** What the record says of them. */
  readonly chain: HookChain;
  readonly #byPoint: ReadonlyMap<string, readonly RegisteredHook[]>;
  readonly #gate: RegisteredHook;

  /**
   * Throws a `HookBuildError` with every fault of every hook. `points` only differs where a test declares its own;
   * `options` are what the configuration gave hooks, by name: another revision of the chain where they differ.
   */
  constructor(input: {
    readonly hooks: readonly RegistrableHook[];
    readonly gate: GateHook;
    readonly points?: readonly AnyHookPoint[];
    readonly options?: ReadonlyMap<string, unknown>;
  }) {
    const points = input.points ?? HOOK_POINTS;
    const registered = [...input.hooks, input.gate].map((hook) => registerHook(hook, points));
    const faults = [
      ...faultsOfPoints(points),
      ...faultsOfGate(input.gate, input.hooks),
      ...registered.flatMap(({ faults }) => faults),
      ...duplicates(registered.map(({ entry }) => entry.name)).map(
        (name) => `hook "${name}": there are two of this name`,
      ),
    ];
    if (faults.length > 0) throw new HookBuildError(faults);

    // The sort is stable, and the gate, given last, has a priority that nothing else may have.
    const entries = registered
      .map(({ entry }) => entry)
      .sort((a, b) => (a.priority < b.priority ? -1 : a.priority > b.priority ? 1 : 0));
    this.#byPoint = new Map(
      points.map((point) => [
        point.name,
        Object.freeze(entries.filter((entry) => entry.point === point.name)),
      ]),
    );
    this.#gate = entries[entries.length - 1] as RegisteredHook;
    this.chain = hookChainOf([...this.#byPoint.values()].flat(), (name) => input.options?.get(name));
  }

  /** The hooks of a point, in the order in which they run. Throws for a point that the registry was not built with. */
  at(point: AnyHookPoint): readonly RegisteredHook[] {
    const entries = this.#byPoint.get(point.name);
    if (!entries) throw new Error(`No hook point "${point.name}" is declared.`);
    return entries;
  }

  get gateName(): string {
    return this.#gate.name;
  }
}

function faultsOfPoints(points: readonly AnyHookPoint[]): string[] {
  return [
    ...duplicates(points.map(({ name }) => name)).map(
      (name) => `point "${name}": there are two of this name`,
    ),
    ...points
      .filter(({ hookClass, writable }) => hookClass === 'observer' && Object.keys(writable).length > 0)
      .map(({ name }) => `point "${name}": an observer cannot have writable fields`),
  ];
}

function faultsOfGate(gate: unknown, hooks: readonly unknown[]): string[] {
  const faults: string[] = [];
  if (!(gate instanceof GateHook)) faults.push('the gate has to be a GateHook');
  if (hooks.some((hook) => hook instanceof GateHook))
    faults.push('there is exactly one gate, and it is attached last');
  return faults;
}

const duplicates = (names: readonly string[]): string[] => [
  ...new Set(names.filter((name, index) => names.indexOf(name) !== index)),
];
