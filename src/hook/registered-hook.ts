import { GateHook, Hook } from './hook.ts';
import type { AnyHookPoint } from './hook-point.ts';

/** Anything a registry can hold, whatever its point. */
// biome-ignore lint/suspicious/noExplicitAny: the context and result of a hook are those of its point.
export type RegistrableHook = Hook<any, any>;

/**
 * A hook as it was on the day its registry was built. Its settings and methods are taken then, so that nothing done to
 * the object afterwards (a priority changed, an `execute` replaced) reaches a chain.
 */
export interface RegisteredHook {
  readonly name: string;
  readonly point: string;
  readonly priority: number;
  readonly onError: 'deny' | 'continue';
  readonly timeoutMs: number;
  readonly isGate: boolean;
  /** Whether `execute` declares its second parameter; only then is a signal worth its price. */
  readonly takesSignal: boolean;
  /** Asks the hook; null where it always triggers. */
  readonly shouldTrigger: ((context: unknown) => unknown) | null;
  readonly execute: (context: unknown, signal: AbortSignal) => unknown;
}

/** Takes a hook for a registry, or says in words everything that is wrong with it. */
export function registerHook(
  hook: RegistrableHook,
  points: readonly AnyHookPoint[],
): { readonly entry: RegisteredHook; readonly faults: readonly string[] } {
  const isGate = hook instanceof GateHook;
  const entry: RegisteredHook = Object.freeze({
    name: hook.name,
    point: hook.point,
    priority: isGate ? Number.POSITIVE_INFINITY : hook.priority,
    onError: hook.onError,
    timeoutMs: hook.timeoutMs,
    isGate,
    takesSignal: hook.execute.length >= 2,
    shouldTrigger:
      isGate || hook.shouldTrigger === Hook.prototype.shouldTrigger ? null : hook.shouldTrigger.bind(hook),
    execute: hook.execute.bind(hook),
  });
  return { entry, faults: faultsOf(entry, points) };
}

const KEBAB_CASE = /^[a-z0-9]+(-[a-z0-9]+)*$/;
const LONGEST_TIMEOUT_MS = 60_000;

function faultsOf(entry: RegisteredHook, points: readonly AnyHookPoint[]): string[] {
  const faults: string[] = [];
  const point = points.find((candidate) => candidate.name === entry.point);
  if (typeof entry.name !== 'string' || !KEBAB_CASE.test(entry.name)) {
    faults.push(`hook "${entry.name}": the name has to be kebab-case`);
  }
  if (!point) {
    const declared = points.map((candidate) => candidate.name).join(', ');
    faults.push(`hook "${entry.name}": no point "${entry.point}" is declared (there are ${declared})`);
  }
  if (entry.onError !== 'deny' && entry.onError !== 'continue') {
    faults.push(`hook "${entry.name}": onError has to be "deny" or "continue", not ${String(entry.onError)}`);
  } else if (entry.onError === 'deny' && point?.failureRule === 'record') {
    faults.push(
      `hook "${entry.name}": at ${entry.point} nothing can be denied, so onError has to be "continue"`,
    );
  } else if (entry.onError === 'continue' && entry.isGate) {
    faults.push(`hook "${entry.name}": the gate denies when it fails, so onError has to be "deny"`);
  }
  if (!entry.isGate && !Number.isFinite(entry.priority)) {
    faults.push(`hook "${entry.name}": the priority has to be a finite number`);
  }
  if (!(entry.timeoutMs > 0 && entry.timeoutMs <= LONGEST_TIMEOUT_MS)) {
    faults.push(`hook "${entry.name}": timeoutMs has to be above 0 and at most ${LONGEST_TIMEOUT_MS}`);
  }
  return faults;
}
