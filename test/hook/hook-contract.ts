import { describe, expect, it } from 'vitest';
import { frozenContextWith } from '../../src/hook/frozen-context.ts';
import type { GateHook } from '../../src/hook/hook.ts';
import type { AnyHook, AnyHookKind } from '../../src/hook/hook-kind.ts';
import { HOOK_POINTS } from '../../src/hook/hook-point.ts';
import type { HookPorts } from '../../src/hook/hook-ports.ts';
import { HookRegistry } from '../../src/hook/hook-registry.ts';
import { CONTEXT, SampleGate, SESSION, SETTLED } from './sample-hooks.ts';
import { brokenPorts, workingPorts } from './sample-ports.ts';

/** What every hook of the project has to hold to, beside what it is for. */
export function describeHookContract(subject: {
  readonly name: string;
  /** Builds the hook with valid options over these ports. */
  create(ports: HookPorts): AnyHook;
  /** False where the hook reaches nothing that could fail. */
  readonly usesPorts: boolean;
}): void {
  describe(`${subject.name} keeps the contract of hooks: it`, () => {
    const hook = subject.create(workingPorts());

    it('goes by its name, and can be registered', () => {
      expect(hook.name).toBe(subject.name);
      expect(() => registryOf(hook)).not.toThrow();
    });

    it('triggers or not, but says which', async () => {
      expect(await hook.shouldTrigger(contextOf(hook) as never)).toBeTypeOf('boolean');
    });

    it('answers with a result of its point, from a frozen context', async () => {
      const point = HOOK_POINTS.find(({ name }) => name === hook.point);
      const answer = await hook.execute(contextOf(hook) as never, new AbortController().signal);
      expect(point?.result.safeParse(answer)).toMatchObject({ success: true });
    });

    if (!subject.usesPorts) return;
    it('fails where what it needs fails, instead of answering anyway', async () => {
      const failing = subject.create(brokenPorts());
      await expect(
        (async () => failing.execute(contextOf(failing) as never, new AbortController().signal))(),
      ).rejects.toThrow();
    });
  });
}

/** The same for what a configuration declares. */
export function describeKindContract(subject: {
  readonly kind: AnyHookKind;
  /** Options that are valid; where they are empty, none have to be given. */
  readonly options: Readonly<Record<string, unknown>>;
  readonly usesPorts: boolean;
}): void {
  const { kind, options, usesPorts } = subject;
  describeHookContract({
    name: kind.name,
    create: (ports) => kind.create(kind.options.parse(options), ports),
    usesPorts,
  });

  it(`${kind.name} takes its own checked options again, unchanged`, () => {
    const checked = kind.options.parse(options);
    expect(kind.options.parse(checked)).toEqual(checked);
  });

  it(`${kind.name} refuses an option it does not know`, () => {
    expect(kind.options.safeParse({ ...options, unheardOf: 1 }).success).toBe(false);
  });
}

const registryOf = (hook: AnyHook): HookRegistry =>
  hook.point === 'PreToolUse' && hook.priority === Number.POSITIVE_INFINITY
    ? new HookRegistry({ hooks: [], gate: hook as GateHook })
    : new HookRegistry({ hooks: [hook], gate: new SampleGate() });

function contextOf(hook: AnyHook): object {
  switch (hook.point) {
    case 'SessionStart':
      return Object.freeze({ ...SESSION, metadata: Object.freeze({ ...SESSION.metadata }) });
    case 'PreToolUse':
      return frozenContextWith(CONTEXT, {});
    case 'PostToolUse':
      return frozenContextWith(CONTEXT, { toolResult: 'x'.repeat(20_000) });
    case 'ToolSettled':
      return frozenContextWith(CONTEXT, { settlement: Object.freeze({ ...SETTLED.settlement }) });
  }
}
