import { z } from 'zod';
import { durationMs, durationOption } from '../src/hook/duration-option.ts';
import { PreToolUseHook } from '../src/hook/hook.ts';
import type { HookContext } from '../src/hook/hook-context.ts';
import type { HookKind } from '../src/hook/hook-kind.ts';
import type { RateLimitPort } from '../src/hook/hook-ports.ts';
import type { PreToolUseResult } from '../src/hook/hook-results.ts';

const options = z.strictObject({
  /** Calls in any stretch of time as long as the window. */
  limit: z.int().min(1).max(1_000),
  window: durationOption('1s', '30d'),
  /** Whose calls are counted together. */
  per: z.enum(['user', 'connector', 'user-and-connector']).default('user-and-connector'),
});
type Options = z.infer<typeof options>;

/**
 * Bounds how often a connector is called, across all replicas and agents. A call counts when it is let through here,
 * also where a later hook or a person stops it. Denies when it cannot be counted.
 */
export const connectorRateLimit: HookKind<Options> = {
  name: 'connector-rate-limit',
  options,
  create: (settings, ports) => new ConnectorRateLimitHook(settings, ports.rateLimit),
};

class ConnectorRateLimitHook extends PreToolUseHook {
  readonly name = 'connector-rate-limit';
  readonly onError = 'deny';
  override readonly priority = 50;
  readonly #options: Options;
  readonly #windowMs: number;
  readonly #rateLimit: RateLimitPort;

  constructor(settings: Options, rateLimit: RateLimitPort) {
    super();
    this.#options = settings;
    this.#windowMs = durationMs(settings.window);
    this.#rateLimit = rateLimit;
  }

  async execute(context: HookContext): Promise<PreToolUseResult> {
    const { limit } = this.#options;
    const taken = await this.#rateLimit.take({ key: this.#keyOf(context), limit, windowMs: this.#windowMs });
    if (taken.allowed === true) return { allow: true };
    return {
      allow: false,
      code: 'rate_limited',
      error: `This was called too often, so the call did not run. Try again in ${taken.retryAfterSeconds} seconds.`,
      retryAfter: taken.retryAfterSeconds,
      sideEffects: [`blocked a call over the limit of ${limit}`],
    };
  }

  /** The window is part of the key: two agents that count over different times must not trim each other's counts. */
  #keyOf({ metadata, userId }: HookContext): string {
    const { per } = this.#options;
    return JSON.stringify([
      metadata.organization,
      this.#windowMs,
      per,
      per === 'user' ? null : metadata.connector,
      per === 'connector' ? null : userId,
    ]);
  }
}
