import { createHash } from 'node:crypto';
import type { RegisteredHook } from './registered-hook.ts';

/** The hooks of an agent as the record names them: which there are, in the order in which they run. */
export interface HookChain {
  /** `sha256:` and hex; another one whenever a hook, its place, its failure rule, its time or its options differ. */
  readonly revision: string;
  /** Point by point, the gate last among those before a call. */
  readonly hooks: readonly { readonly point: string; readonly name: string }[];
}

/** `entries` in the order in which they run; `optionsOf` what the configuration gave a hook of this name. */
export function hookChainOf(
  entries: readonly RegisteredHook[],
  optionsOf: (name: string) => unknown,
): HookChain {
  const told = entries.map(({ point, name, priority, onError, timeoutMs }) => [
    ...[point, name, String(priority), onError, timeoutMs],
    optionsOf(name) ?? null,
  ]);
  return {
    revision: `sha256:${createHash('sha256').update(JSON.stringify(told)).digest('hex')}`,
    hooks: entries.map(({ point, name }) => ({ point, name })),
  };
}
