import { describe, expect, it } from 'vitest';
import { CoalescedNotices } from '../../src/db/coalesced-notices.ts';
import { ManualClock } from '../support/manual-clock.ts';

function rig() {
  const clock = new ManualClock();
  const sent: string[] = [];
  let answer: () => Promise<void> = async () => {};
  const notices = new CoalescedNotices({
    clock,
    notifier: {
      notify(topic, id) {
        sent.push(`${topic} ${id}`);
        return answer();
      },
    },
  });
  const answerWith = (next: () => Promise<void>) => {
    answer = next;
  };
  /** Lets the round in work end. */
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  return { clock, sent, notices, answerWith, settle };
}

describe('what a run writes', () => {
  it('is announced at once, and together once where more of it follows', async () => {
    const { clock, sent, notices, settle } = rig();
    notices.announce('run', 'one');
    expect(sent).toEqual(['run one']);
    await settle();
    for (let write = 0; write < 100; write += 1) notices.announce('run', 'one');
    notices.announce('audit', 'one');
    notices.announce('run', 'two');
    expect(sent).toEqual(['run one']);
    clock.advance(20);
    expect(sent).toEqual(['run one', 'run one', 'audit one', 'run two']);
    await settle();
    clock.advance(1_000);
    expect(sent).toHaveLength(4);
    expect(clock.pendingTimers).toBe(0);
  });

  it('is announced further after an announcement that failed', async () => {
    const { clock, sent, notices, answerWith, settle } = rig();
    answerWith(() => Promise.reject(new Error('the database is away')));
    notices.announce('run', 'one');
    await settle();
    answerWith(async () => {});
    notices.announce('run', 'two');
    clock.advance(20);
    expect(sent).toEqual(['run one', 'run two']);
  });

  it('is announced before a process that stops closes its database', async () => {
    const { sent, notices, settle } = rig();
    notices.announce('run', 'one');
    await settle();
    notices.announce('run', 'one');
    await notices.flush();
    expect(sent).toEqual(['run one', 'run one']);
  });
});
