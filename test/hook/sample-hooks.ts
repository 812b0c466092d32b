import { dispatchPreToolUse, type PreToolUseDispatch } from '../../src/hook/dispatch-pre-tool-use.ts';
import {
  GateHook,
  type OnError,
  PostToolUseHook,
  PreToolUseHook,
  SessionStartHook,
  ToolSettledHook,
} from '../../src/hook/hook.ts';
import type {
  HookContext,
  PostToolUseContext,
  SessionStartContext,
  ToolSettledContext,
} from '../../src/hook/hook-context.ts';
import type { HookFailure } from '../../src/hook/hook-failure.ts';
import { HookRegistry } from '../../src/hook/hook-registry.ts';
import type { RegistrableHook } from '../../src/hook/registered-hook.ts';
import { agentId, type InvocationId, personId, type RunId } from '../../src/ids.ts';
import { ManualClock } from '../support/manual-clock.ts';

/** What a sample hook does; `execute` may answer with anything, as real ones under test do. */
export interface Behaviour<Context = HookContext> {
  readonly name: string;
  readonly priority?: number;
  readonly onError?: OnError;
  readonly timeoutMs?: number;
  readonly shouldTrigger?: (context: Context) => unknown;
  readonly execute: (context: Context, signal: AbortSignal) => unknown;
}

export function preHook(behaviour: Behaviour): PreToolUseHook {
  class Sample extends PreToolUseHook {
    readonly name = behaviour.name;
    readonly onError = behaviour.onError ?? 'deny';
    override readonly priority = behaviour.priority ?? 100;
    override readonly timeoutMs = behaviour.timeoutMs ?? 5_000;
    override shouldTrigger(context: HookContext) {
      return (behaviour.shouldTrigger?.(context) ?? true) as boolean;
    }
    async execute(context: HookContext, signal: AbortSignal) {
      return (await behaviour.execute(context, signal)) as { allow: true };
    }
  }
  return new Sample();
}

export function postHook(behaviour: Behaviour<PostToolUseContext>): PostToolUseHook {
  class Sample extends PostToolUseHook {
    readonly name = behaviour.name;
    readonly onError = behaviour.onError ?? 'deny';
    override readonly priority = behaviour.priority ?? 100;
    async execute(context: PostToolUseContext, signal: AbortSignal) {
      return (await behaviour.execute(context, signal)) as object;
    }
  }
  return new Sample();
}

export function startHook(behaviour: Behaviour<SessionStartContext>): SessionStartHook {
  class Sample extends SessionStartHook {
    readonly name = behaviour.name;
    readonly onError = behaviour.onError ?? 'deny';
    async execute(context: SessionStartContext, signal: AbortSignal) {
      return (await behaviour.execute(context, signal)) as object;
    }
  }
  return new Sample();
}

export function observer(behaviour: Behaviour<ToolSettledContext>): ToolSettledHook {
  class Sample extends ToolSettledHook {
    readonly name = behaviour.name;
    readonly onError = behaviour.onError ?? 'continue';
    async execute(context: ToolSettledContext, signal: AbortSignal) {
      return (await behaviour.execute(context, signal)) as undefined;
    }
  }
  return new Sample();
}

/** A gate that remembers what it was asked; without an answer of its own it lets everything through. */
export class SampleGate extends GateHook {
  readonly name = 'confirmation-gate';
  readonly seen: HookContext[] = [];
  readonly #answer: (context: HookContext) => unknown;

  constructor(answer: (context: HookContext) => unknown = () => ({ allow: true })) {
    super();
    this.#answer = answer;
  }

  async execute(context: HookContext) {
    this.seen.push(context);
    return (await this.#answer(context)) as { allow: true };
  }
}

export const CONTEXT: HookContext = {
  toolName: 'oa__purchase_pay',
  toolArgs: { payee: 'Acme Steel', amount: '100.00' },
  agentId: agentId('procurement'),
  userId: personId('zhao.min'),
  sessionId: 'session-1',
  runId: '01990000-0000-7000-8000-000000000001' as RunId,
  metadata: {
    organization: 'acme',
    conversation: null,
    connector: 'oa',
    toolVersion: null,
    writes: true,
    requiresConfirmation: true,
    invocationId: '01990000-0000-7000-8000-000000000002' as InvocationId,
    callId: 'call_0',
    parentRunId: null,
    evaluation: false,
    ask: null,
  },
};

export const SETTLED: ToolSettledContext = {
  ...CONTEXT,
  settlement: {
    status: 'succeeded',
    code: null,
    durationMs: 12,
    argsDigest: `sha256:${'0'.repeat(64)}`,
    confirmationId: null,
  },
};

export const SESSION: SessionStartContext = {
  agentId: agentId('procurement'),
  userId: personId('zhao.min'),
  sessionId: 'session-1',
  runId: '01990000-0000-7000-8000-000000000001' as RunId,
  metadata: { organization: 'acme', evaluation: false },
};

/** One dispatch with everything around it: hooks, a gate, a clock that stands still, the failures it reported. */
export function dispatchOver(
  hooks: readonly RegistrableHook[],
  changes: Partial<PreToolUseDispatch> & { readonly gate?: SampleGate } = {},
) {
  const failures: HookFailure[] = [];
  const clock = new ManualClock();
  const cancel = new AbortController();
  const { gate = new SampleGate(), ...rest } = changes;
  const registry = new HookRegistry({ hooks, gate });
  const input: PreToolUseDispatch = {
    registry,
    context: CONTEXT,
    validateArgs: () => ({ ok: true }),
    signal: cancel.signal,
    clock,
    onHookFailed: (failure) => {
      failures.push(failure);
    },
    ...rest,
  };
  return { failures, clock, cancel, gate, registry, input, run: () => dispatchPreToolUse(input) };
}
