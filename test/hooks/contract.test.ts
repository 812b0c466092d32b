import { describe, expect, it } from 'vitest';
import { createConfirmationGate } from '../../hooks/confirmation-gate.ts';
import { HOOK_KINDS } from '../../hooks/index.ts';
import { describeHookContract, describeKindContract } from '../hook/hook-contract.ts';

/** Valid options and needs of each; one that is missing here fails below. */
const SUBJECTS: Readonly<Record<string, { options: Record<string, unknown>; usesPorts: boolean }>> = {
  'audit-log': { options: {}, usesPorts: true },
  'connector-rate-limit': { options: { limit: 5, window: '1m' }, usesPorts: true },
  'read-only-guard': { options: {}, usesPorts: true },
  'result-truncate': { options: {}, usesPorts: false },
  'session-context': { options: {}, usesPorts: true },
};

describe('the hooks that can be declared', () => {
  it('are each held to the contract', () => {
    expect(HOOK_KINDS.map(({ name }) => name).sort()).toEqual(Object.keys(SUBJECTS).sort());
  });

  for (const kind of HOOK_KINDS) {
    describeKindContract({ kind, options: {}, usesPorts: false, ...SUBJECTS[kind.name] });
  }
});

describeHookContract({
  name: 'confirmation-gate',
  create: () =>
    createConfirmationGate({
      gate: { ask: async () => ({ kind: 'not-needed' }) },
      confirmationForAll: false,
    }),
  usesPorts: false,
});
