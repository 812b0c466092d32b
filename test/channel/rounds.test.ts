import { describe, expect, it } from 'vitest';
import { Rounds } from '../../src/rounds.ts';
import { ManualClock } from '../support/manual-clock.ts';

function rig() {
  const clock = new ManualClock();
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  const rounds = new Rounds({
    clock,
    restMs: 50,
    round: () =>
      new Promise<void>((resolve) => {
        begun.push(clock.monotonic());
        ends.push(resolve);
      }),
  });
  /** Ends the round in work, and lets what follows it begin. */
  const end = async () => {
    ends.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { clock, rounds, begun, end };
}

describe('rounds of work', () => {
  it('begin at once after a rest', async () => {
    const { clock, rounds, begun, end } = rig();
    rounds.call();
    expect(begun).toEqual([0]);
    await end();
    clock.advance(50);
    rounds.call();
    expect(begun).toEqual([0, 50]);
  });

  it('follow once, and after the rest, for all the calls that came meanwhile', async () => {
    const { clock, rounds, begun, end } = rig();
    rounds.call();
    for (let call = 0; call < 1_000; call += 1) rounds.call();
    await end();
    rounds.call();
    clock.advance(49);
    expect(begun).toEqual([0]);
    clock.advance(1);
    expect(begun).toEqual([0, 50]);
    await end();
    clock.advance(1_000);
    expect(begun).toEqual([0, 50]);
  });

  it('follow at once where the round itself took longer than the rest', async () => {
    const { clock, rounds, begun, end } = rig();
    rounds.call();
    clock.advance(80);
    rounds.call();
    expect(begun).toEqual([0]);
    await end();
    expect(begun).toEqual([0, 80]);
  });

  it('do not rest where somebody knows that there is more', async () => {
    const { clock, rounds, begun, end } = rig();
    rounds.call();
    rounds.callNow();
    expect(begun).toEqual([0]);
    await end();
    expect(begun).toEqual([0, 0]);
    await end();
    rounds.call();
    clock.advance(1);
    rounds.callNow();
    expect(begun).toEqual([0, 0, 1]);
    await end();
    clock.advance(1_000);
    expect(begun).toEqual([0, 0, 1]);
  });

  it('end with the one in work', async () => {
    const { clock, rounds, begun, end } = rig();
    rounds.call();
    rounds.call();
    let stopped = false;
    const stopping = rounds.stop().then(() => {
      stopped = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(stopped).toBe(false);
    await end();
    await stopping;
    clock.advance(1_000);
    rounds.call();
    expect(begun).toEqual([0]);
  });
});
