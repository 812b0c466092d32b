import { describe, expect, it } from 'vitest';
import type { DecideInput } from '../../src/confirmation/confirmation-service.ts';
import { createDecisionLanes } from '../../src/confirmation/decision-lanes.ts';
import type { ConfirmationLedger, LedgerTransaction } from '../../src/confirmation/ledger.ts';
import type { ConfirmationId } from '../../src/ids.ts';
import { person } from '../support/core.ts';
import { ManualClock } from '../support/manual-clock.ts';

const NOBODY = {
  people: { byId: () => null, absenceOf: () => null },
  reach: { addressOf: () => null, accountsOf: () => [] },
};

const votedBy = (id: string): DecideInput => ({
  id: id as ConfirmationId,
  person: person('li.wei'),
  verdict: 'approve',
  reason: null,
  argsDigest: null,
  surface: { kind: 'api' },
});

/** Lanes over a database of which each transaction fails when the test says so. */
function rig() {
  const clock = new ManualClock();
  const failures: ((error: Error) => void)[] = [];
  const transact = () => new Promise<never>((_, reject) => failures.push(reject));
  const { decide } = createDecisionLanes({
    ...NOBODY,
    clock,
    ledger: { transact } as unknown as ConfirmationLedger,
  });
  const vote = (id: string) => decide(votedBy(id));
  const fail = async () => {
    failures.shift()?.(new Error('connection lost'));
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { clock, vote, fail, failures };
}

describe('decisions while the database does not answer', () => {
  it('are tried on their own where they failed together at once', async () => {
    const { vote, fail, failures } = rig();
    const voted = expect(vote('a')).rejects.toThrow('connection lost');
    await fail();
    expect(failures).toHaveLength(1);
    await fail();
    await voted;
  });

  it('are not tried again behind the backs of people who were told that they may not be recorded', async () => {
    const { clock, vote, fail, failures } = rig();
    const voted = expect(vote('a')).rejects.toThrow('connection lost');
    clock.advance(1_001);
    await fail();
    await voted;
    expect(failures).toHaveLength(0);
  });

  it('are tried on their own where the transaction waited for a connection, and then failed at once', async () => {
    const clock = new ManualClock();
    const inside = { lockFree: () => Promise.reject(new Error('poisoned')), lock: async () => null };
    const transact = async (work: (transaction: LedgerTransaction) => Promise<unknown>) => {
      clock.advance(1_500);
      return work(inside as unknown as LedgerTransaction);
    };
    const { decide } = createDecisionLanes({
      ...NOBODY,
      clock,
      ledger: { transact } as unknown as ConfirmationLedger,
    });
    expect(await decide(votedBy('a'))).toEqual({ kind: 'not-found' });
  });

  it('are not begun once they have waited for ten seconds', async () => {
    const { clock, vote, fail, failures } = rig();
    const first = ['a', 'b'].map((id) => expect(vote(id)).rejects.toThrow('connection lost'));
    const waited = expect(vote('c')).rejects.toThrow('could not be recorded in time');
    expect(failures).toHaveLength(2);
    clock.advance(10_001);
    await fail();
    await waited;
    await fail();
    await Promise.all(first);
    expect(failures).toHaveLength(0);
  });
});
