import { assertNever } from '../src/assert-never.ts';
import type { ConfirmationGate } from '../src/confirmation/gate.ts';
import { GateHook } from '../src/hook/hook.ts';
import type { HookContext } from '../src/hook/hook-context.ts';
import type { PreToolUseResult } from '../src/hook/hook-results.ts';

export interface ConfirmationGateSettings {
  readonly gate: ConfirmationGate;
  /** The agent is configured with `requireConfirmationForAll`. */
  readonly confirmationForAll: boolean;
}

/**
 * Stops a call until a person has said yes to exactly that call. Attached to every agent, after every other hook; sees
 * each call, and leaves to the core whether a policy asks for anybody. It stores the request and returns; who waits,
 * and how long, is not its business. A gate that cannot be asked denies.
 */
export class ConfirmationGateHook extends GateHook {
  readonly name = 'confirmation-gate';
  /** One transaction, whose statements wait for a lock for at most 2 s each. */
  override readonly timeoutMs = 10_000;
  readonly #gate: ConfirmationGate;
  readonly #confirmationForAll: boolean;

  constructor(settings: ConfirmationGateSettings) {
    super();
    this.#gate = settings.gate;
    this.#confirmationForAll = settings.confirmationForAll;
  }

  async execute(context: HookContext, signal: AbortSignal): Promise<PreToolUseResult> {
    const answer = await this.#gate.ask({ context, confirmationForAll: this.#confirmationForAll, signal });
    switch (answer.kind) {
      case 'not-needed':
        return { allow: true };
      case 'stubbed':
        return { allow: 'stubbed' };
      case 'pending':
        return { allow: 'pending', confirmationId: answer.confirmationId };
      case 'denied': {
        const { code, message, confirmationId } = answer;
        return { allow: false, code, error: message, ...(confirmationId === null ? {} : { confirmationId }) };
      }
      default:
        return assertNever(answer);
    }
  }
}

/** The gate of one agent. */
export const createConfirmationGate = (settings: ConfirmationGateSettings): ConfirmationGateHook =>
  new ConfirmationGateHook(settings);
