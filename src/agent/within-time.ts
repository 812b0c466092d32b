import { createContext, Script } from 'node:vm';

const holder: { work: (() => unknown) | null } = { work: null };
const context = createContext(holder);
const script = new Script('work()');

/** `withinTime` broke the work off. */
export class TimeIsOver extends Error {
  constructor(limitMs: number) {
    super(`the work took longer than ${limitMs} ms`);
    this.name = 'TimeIsOver';
  }
}

/**
 * Runs `work`, which must not wait for anything, and breaks it off after `limitMs`: what a stranger's schema or
 * pattern may cost is nobody's guess. Throws what `work` throws, and `TimeIsOver`.
 */
export function withinTime<T>(limitMs: number, work: () => T): T {
  let result: { readonly value: T } | null = null;
  holder.work = () => {
    result = { value: work() };
  };
  try {
    script.runInContext(context, { timeout: limitMs });
  } catch (error) {
    const { code } = error as { code?: unknown };
    throw code === 'ERR_SCRIPT_EXECUTION_TIMEOUT' ? new TimeIsOver(limitMs) : error;
  } finally {
    holder.work = null;
  }
  if (result === null) throw new Error('the work left no result');
  return (result as { readonly value: T }).value;
}
