import { describe, expect, it } from 'vitest';
import { readOnlyGuard } from '../../hooks/read-only-guard.ts';
import { CONTEXT, dispatchOver } from '../hook/sample-hooks.ts';
import { brokenPorts, workingPorts } from '../hook/sample-ports.ts';

const guardOver = (frozen: string | null) =>
  readOnlyGuard.create(
    {},
    workingPorts({ readOnly: { isReadOnly: async (connector) => connector === frozen } }),
  );

const call = (changes: Partial<typeof CONTEXT.metadata>) => ({
  context: { ...CONTEXT, metadata: { ...CONTEXT.metadata, ...changes } },
});

describe('the read-only guard', () => {
  it('blocks a writing call of a connector that is read-only', async () => {
    const outcome = await dispatchOver([guardOver('oa')], call({ connector: 'oa' })).run();
    expect(outcome).toMatchObject({
      kind: 'denied',
      code: 'read_only',
      failure: false,
      hookName: 'read-only-guard',
    });
    expect(outcome.sideEffects).toHaveLength(1);
  });

  it('lets writing calls of other connectors through', async () => {
    expect(await dispatchOver([guardOver('oa')], call({ connector: 'crm' })).run()).toMatchObject({
      kind: 'allowed',
    });
  });

  it('lets a call through that only reads, without asking', async () => {
    const guard = readOnlyGuard.create({}, brokenPorts());
    expect(await dispatchOver([guard], call({ writes: false })).run()).toMatchObject({ kind: 'allowed' });
  });

  it('guards external tools, which belong to no connector', async () => {
    expect(await dispatchOver([guardOver(null)], call({ connector: null })).run()).toMatchObject({
      kind: 'denied',
    });
  });

  it('denies where the switch cannot be read', async () => {
    const guard = readOnlyGuard.create({}, brokenPorts());
    expect(await dispatchOver([guard]).run()).toMatchObject({ kind: 'denied', failure: true });
  });

  it('denies where the switch answers neither way', async () => {
    const readOnly = { isReadOnly: async () => undefined as unknown as boolean };
    const guard = readOnlyGuard.create({}, workingPorts({ readOnly }));
    expect(await dispatchOver([guard]).run()).toMatchObject({ kind: 'denied' });
  });
});
