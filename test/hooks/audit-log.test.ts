import { describe, expect, it } from 'vitest';
import { auditLog } from '../../hooks/audit-log.ts';
import type { ToolSettledHook } from '../../src/hook/hook.ts';
import type { ToolSettledContext } from '../../src/hook/hook-context.ts';
import type { InvocationId } from '../../src/ids.ts';
import { SETTLED } from '../hook/sample-hooks.ts';
import { workingPorts } from '../hook/sample-ports.ts';

const hookWith = (options: object, ports = workingPorts()) =>
  auditLog.create(auditLog.options.parse(options), ports) as ToolSettledHook;

const execute = (hook: ToolSettledHook, context: ToolSettledContext) =>
  hook.execute(context, new AbortController().signal);

function settled(index: number, status: ToolSettledContext['settlement']['status']): ToolSettledContext {
  const invocationId = `0199-${index}` as InvocationId;
  return {
    ...SETTLED,
    metadata: { ...SETTLED.metadata, invocationId },
    settlement: { ...SETTLED.settlement, status },
  };
}

const many = Array.from({ length: 2_000 }, (_, index) => index);

describe('the audit log', () => {
  it('writes who called what, how long it took, how it ended and under which digest', async () => {
    const ports = workingPorts();
    await execute(hookWith({}, ports), SETTLED);
    expect(ports.written).toEqual([
      {
        organization: 'acme',
        connector: 'oa',
        tool: 'oa__purchase_pay',
        agent: 'procurement',
        person: 'zhao.min',
        session: 'session-1',
        run: SETTLED.runId,
        status: 'succeeded',
        code: null,
        durationMs: 12,
        argsDigest: SETTLED.settlement.argsDigest,
        confirmation: null,
      },
    ]);
  });

  it('never writes an argument', async () => {
    const ports = workingPorts();
    await execute(hookWith({}, ports), { ...SETTLED, toolArgs: { token: 'hunter2' } });
    expect(JSON.stringify(ports.written)).not.toContain('hunter2');
  });

  it('leaves out the fields that are not wanted', async () => {
    const ports = workingPorts();
    await execute(hookWith({ fields: ['durationMs'] }, ports), SETTLED);
    expect(ports.written).toMatchObject([
      { tool: 'oa__purchase_pay', durationMs: 12, person: null, session: null, run: null, argsDigest: null },
    ]);
  });

  it('keeps the share of the calls without incident that is asked for, the same ones each time', () => {
    const hook = hookWith({ sample: 0.25 });
    const kept = many.filter((index) => hook.shouldTrigger(settled(index, 'succeeded')));
    expect(kept.length).toBeGreaterThan(400);
    expect(kept.length).toBeLessThan(600);
    expect(many.filter((index) => hook.shouldTrigger(settled(index, 'succeeded')))).toEqual(kept);
  });

  it.each(['blocked', 'failed', 'unknown'] as const)('keeps every %s call, whatever the sample', (status) => {
    const hook = hookWith({ sample: 0 });
    expect(many.every((index) => hook.shouldTrigger(settled(index, status)))).toBe(true);
    expect(many.some((index) => hook.shouldTrigger(settled(index, 'succeeded')))).toBe(false);
  });

  it('keeps every call at a sample of one', () => {
    const hook = hookWith({});
    expect(many.every((index) => hook.shouldTrigger(settled(index, 'succeeded')))).toBe(true);
  });

  it.each([[{ fields: ['args'] }], [{ sample: 1.5 }], [{ sample: -1 }]])(
    'refuses the options %j',
    (options) => {
      expect(auditLog.options.safeParse(options).success).toBe(false);
    },
  );
});
