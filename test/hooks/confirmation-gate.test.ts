import { describe, expect, it } from 'vitest';
import { createConfirmationGate } from '../../hooks/confirmation-gate.ts';
import type { ConfirmationGate, GateAnswer, GatedCall } from '../../src/confirmation/gate.ts';
import { dispatchPreToolUse } from '../../src/hook/dispatch-pre-tool-use.ts';
import { HookRegistry } from '../../src/hook/hook-registry.ts';
import type { ConfirmationId } from '../../src/ids.ts';
import { CONTEXT, preHook } from '../hook/sample-hooks.ts';
import { ManualClock } from '../support/manual-clock.ts';

const CONFIRMATION = '01990000-0000-7000-8000-00000000000c' as ConfirmationId;

/** The answer of a whole dispatch over a core that answers so, and what the core was asked. */
async function through(ask: ConfirmationGate['ask'], confirmationForAll = false) {
  const asked: GatedCall[] = [];
  const gate = createConfirmationGate({
    gate: {
      ask: (call) => {
        asked.push(call);
        return ask(call);
      },
    },
    confirmationForAll,
  });
  const rewriting = preHook({
    name: 'rewrite',
    priority: 1e9,
    execute: () => ({ allow: true, modifiedArgs: { amount: '1000.00' } }),
  });
  const outcome = await dispatchPreToolUse({
    registry: new HookRegistry({ hooks: [rewriting], gate }),
    context: CONTEXT,
    validateArgs: () => ({ ok: true }),
    signal: new AbortController().signal,
    clock: new ManualClock(),
    onHookFailed: () => {},
  });
  return { outcome, asked };
}

const answers = (answer: GateAnswer) => async () => answer;

describe('the confirmation gate', () => {
  it('asks the core about the arguments that will run, and for all calls where the agent says so', async () => {
    const { asked } = await through(answers({ kind: 'not-needed' }), true);
    expect(asked).toMatchObject([{ confirmationForAll: true, context: { toolArgs: { amount: '1000.00' } } }]);
  });

  it('lets a call through that nobody has to be asked about', async () => {
    const { outcome } = await through(answers({ kind: 'not-needed' }));
    expect(outcome).toMatchObject({ kind: 'allowed', args: { amount: '1000.00' } });
  });

  it('answers with the stored request, without waiting for anybody', async () => {
    const { outcome } = await through(answers({ kind: 'pending', confirmationId: CONFIRMATION }));
    expect(outcome).toMatchObject({
      kind: 'pending',
      confirmationId: CONFIRMATION,
      args: { amount: '1000.00' },
    });
  });

  it('stubs in an evaluation', async () => {
    expect((await through(answers({ kind: 'stubbed' }))).outcome).toMatchObject({ kind: 'stubbed' });
  });

  it.each([CONFIRMATION, null])('passes a denial on, with the request %s', async (confirmationId) => {
    const { outcome } = await through(
      answers({ kind: 'denied', code: 'undeliverable', message: 'Nobody could be asked.', confirmationId }),
    );
    expect(outcome).toMatchObject({
      kind: 'denied',
      code: 'undeliverable',
      message: 'Nobody could be asked.',
      failure: false,
      confirmationId,
    });
  });

  it.each<[string, ConfirmationGate['ask']]>([
    ['cannot be asked', () => Promise.reject(new Error('the database is down'))],
    ['answers nothing', async () => undefined as unknown as GateAnswer],
    ['answers what it should not', async () => ({ kind: 'fine' }) as unknown as GateAnswer],
  ])('denies where the core %s', async (_what, ask) => {
    expect((await through(ask)).outcome).toMatchObject({
      kind: 'denied',
      code: 'gate_unavailable',
      failure: true,
    });
  });
});
