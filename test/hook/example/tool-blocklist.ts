import { z } from 'zod';
import { PreToolUseHook } from '../../../src/hook/hook.ts';
import type { HookContext } from '../../../src/hook/hook-context.ts';
import type { HookKind } from '../../../src/hook/hook-kind.ts';
import type { PreToolUseResult } from '../../../src/hook/hook-results.ts';

const options = z.strictObject({ tools: z.array(z.string()).min(1) });

/** Blocks the tools that it is given. */
export const toolBlocklist: HookKind<z.infer<typeof options>> = {
  name: 'tool-blocklist',
  options,
  create: ({ tools }) => new ToolBlocklistHook(tools),
};

class ToolBlocklistHook extends PreToolUseHook {
  readonly name = 'tool-blocklist';
  readonly onError = 'deny';
  override readonly priority = 20;
  readonly #tools: ReadonlySet<string>;

  constructor(tools: readonly string[]) {
    super();
    this.#tools = new Set(tools);
  }

  override shouldTrigger(context: HookContext): boolean {
    return this.#tools.has(context.toolName);
  }

  async execute(): Promise<PreToolUseResult> {
    return { allow: false, error: 'This tool is not used here, so the call did not run.' };
  }
}
