import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { playAutoStory } from '../../src/demo/auto-story.ts';
import type { DemoWorld } from '../../src/demo/demo-world.ts';
import { type DemoProcess, startDemoProcess } from './demo-process.ts';

describe('the demo that plays itself', () => {
  let demo: DemoProcess;
  let exitCode: number | null;

  beforeAll(async () => {
    demo = await startDemoProcess(['--auto']);
    exitCode = await demo.exited;
  }, 120_000);
  afterAll(() => demo.cleanUp());

  it('exits 0, and every check came out right', () => {
    expect(demo.output()).not.toContain('✗');
    expect(demo.output()).toMatch(/\n\d+ checks right, 0 wrong/);
    expect(exitCode).toBe(0);
  });

  it.each([
    ['an approval', '✓ the payment was made exactly once'],
    ['a rejection with its reason', 'The reason given: "The contract says 60,000.00'],
    ['an expiry', '✓ both cards say: expired'],
    [
      "a wrong person's tap",
      '✓ 陈杰, no approver, taps Approve in Slack and is told: ⛔ You are not an approver',
    ],
    ['a double tap', '✓ the other is told: You have already approved this'],
    ['a late tap', 'is told: ⚠️ Already approved by 李伟'],
    ['a replayed callback', 'byte for byte: answered, and nothing happens a second time'],
    ['the ledger', '800.00 + 68000.00 = 68800.00'],
    ['the record', '✓ the chain of the record is whole'],
  ])('tells of %s', (_what, line) => {
    expect(demo.output()).toContain(line);
  });

  it('leaves nothing behind', async () => {
    expect(await demo.leftovers()).toEqual([]);
  });
});

describe('the story', () => {
  it('ends with 1 where a part does not come out right', async () => {
    // Nothing of this world answers: each chapter breaks off.
    const world = { locale: 'en-US' } as DemoWorld;
    const lines: string[] = [];
    const print = (line: string) => {
      lines.push(line);
    };
    expect(await playAutoStory({ world, interrupted: new AbortController().signal, print })).toBe(1);
    expect(lines.filter((line) => line.includes('✗ broken off'))).toHaveLength(5);
  });
});
