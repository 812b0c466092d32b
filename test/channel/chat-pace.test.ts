import { describe, expect, it } from 'vitest';
import { type ChannelPace, ChatPace, ChatPaces } from '../../src/channel/chat-pace.ts';
import { ManualClock } from '../support/manual-clock.ts';

const SLOW: ChannelPace = { messages: { perSecond: 1, burst: 1 }, changes: { perSecond: 1, burst: 3 } };
const address = (chat: string, app = 'A0') => ({ provider: 'slack', app, tenant: 'T0', chat });

describe('the pace of a chat', () => {
  /** Asks for turns, and moves the clock in steps; what began is noted with its time. */
  function line(pace: ChannelPace = SLOW) {
    const clock = new ManualClock();
    const chat = new ChatPace({ clock, pace });
    const begun: string[] = [];
    const ask = (name: string, task: 'messages' | 'changes' = 'messages', waitMs = 60_000) => {
      const stop = new AbortController();
      const asked = chat
        .turn({ task, before: clock.monotonic() + waitMs, signal: stop.signal })
        .then((given) => begun.push(`${given ? '' : 'not '}${name} at ${clock.monotonic()}`));
      return { asked, stop };
    };
    const pass = async (ms: number) => {
      for (let step = 0; step < ms; step += 100) {
        clock.advance(100);
        // A turn that has come goes through a few promises before it is noted.
        for (let tick = 0; tick < 5; tick += 1) await Promise.resolve();
      }
    };
    return { clock, chat, begun, ask, pass };
  }

  it('lets one new message begin a second, first come, first served', async () => {
    const { ask, pass, begun } = line();
    for (const name of ['a', 'b', 'c']) ask(name);
    await pass(2_500);
    // The first is noted only once the clock moves.
    expect(begun).toEqual(['a at 100', 'b at 1000', 'c at 2000']);
  });

  it('never holds up a change behind new messages, nor the other way round', async () => {
    const { ask, pass, begun } = line();
    for (let card = 0; card < 5; card += 1) ask(`card ${card}`);
    ask('change', 'changes');
    await pass(100);
    expect(begun).toEqual(['card 0 at 100', 'change at 100']);
  });

  it('lets a burst go where the platform does, and its rate after that', async () => {
    const { ask, pass, begun } = line();
    for (const name of ['a', 'b', 'c', 'd', 'e']) ask(name, 'changes');
    await pass(2_100);
    expect(begun).toEqual(['a at 100', 'b at 100', 'c at 100', 'd at 1000', 'e at 2000']);
  });

  it('stands still for everybody when the platform says so, also for those who wait already', async () => {
    const { ask, pass, begun, chat } = line();
    ask('a');
    ask('b');
    await pass(500);
    chat.pause(7_000);
    ask('change', 'changes');
    await pass(8_000);
    expect(begun.sort()).toEqual(['a at 100', 'b at 7500', 'change at 7500']);
  });

  it('gives no turn that would come too late, and none to who gave up', async () => {
    const { ask, pass, begun, chat, clock } = line();
    ask('a');
    ask('late', 'messages', 900);
    const { stop } = ask('gone');
    stop.abort();
    await pass(100);
    expect(begun.sort()).toEqual(['a at 100', 'not gone at 100', 'not late at 100']);
    expect(chat.waitMs('messages')).toBeGreaterThan(0);
    await pass(60_000);
    expect(chat.waitMs('messages')).toBe(0);
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('the paces of a process', () => {
  it('are one for each chat, whoever writes to it', () => {
    const paces = new ChatPaces(new ManualClock());
    const finance = paces.of({ address: address('C0FINANCE'), pace: SLOW });
    expect(paces.of({ address: address('C0FINANCE', 'A0OTHER'), pace: SLOW })).toBe(finance);
    expect(paces.of({ address: address('C0OPS'), pace: SLOW })).not.toBe(finance);
  });

  it('are cautious where a channel says nothing', async () => {
    const pace = new ChatPaces(new ManualClock()).of({ address: address('C0') });
    const ask = () => pace.turn({ task: 'messages', before: 500, signal: new AbortController().signal });
    expect([await ask(), await ask()]).toEqual([true, false]);
  });
});
