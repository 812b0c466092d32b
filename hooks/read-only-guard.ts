import { z } from 'zod';
import { PreToolUseHook } from '../src/hook/hook.ts';
import type { HookContext } from '../src/hook/hook-context.ts';
import type { HookKind } from '../src/hook/hook-kind.ts';
import type { ReadOnlyPort } from '../src/hook/hook-ports.ts';
import type { PreToolUseResult } from '../src/hook/hook-results.ts';

const options = z.strictObject({});

/**
 * Blocks calls that write while the organization, or the connector of the tool, is switched to read-only. Runs early:
 * nothing that a later hook counts or asks should be spent on such a call. Denies when the switch cannot be read.
 */
export const readOnlyGuard: HookKind<z.infer<typeof options>> = {
  name: 'read-only-guard',
  options,
  create: (_options, ports) => new ReadOnlyGuardHook(ports.readOnly),
};

class ReadOnlyGuardHook extends PreToolUseHook {
  readonly name = 'read-only-guard';
  readonly onError = 'deny';
  override readonly priority = 10;
  readonly #readOnly: ReadOnlyPort;

  constructor(readOnly: ReadOnlyPort) {
    super();
    this.#readOnly = readOnly;
  }

  override shouldTrigger(context: HookContext): boolean {
    return context.metadata.writes;
  }

  async execute(context: HookContext): Promise<PreToolUseResult> {
    const { connector } = context.metadata;
    // Anything but a plain no is a yes: a switch that cannot say is not off.
    if ((await this.#readOnly.isReadOnly(connector)) === false) return { allow: true };
    return {
      allow: false,
      code: 'read_only',
      error:
        'Writing is switched off for now, so the call did not run. A person can switch it on again; ' +
        'do not try to write another way.',
      sideEffects: [`blocked a writing call while ${connector ?? 'the organization'} is read-only`],
    };
  }
}
