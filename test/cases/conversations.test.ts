import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { SessionStartHook } from '../../src/hook/hook.ts';
import type { SessionStartContext } from '../../src/hook/hook-context.ts';
import type { AnyHookKind } from '../../src/hook/hook-kind.ts';
import type { RunId } from '../../src/ids.ts';
import type { EngineFixture } from '../agent/engine-fixture.ts';
import { agent } from '../agent/sample-config.ts';
import { until } from '../support/until.ts';
import { BUYER, type CaseRig, onlyRequest, pay, script, startRig } from './case-rig.ts';

/** Notes whom it greets; a conversation of which one is told to hang is not answered. */
function greeting(greeted: SessionStartContext[], hanging: Set<string>): AnyHookKind {
  class Greet extends SessionStartHook {
    readonly name = 'greet';
    readonly onError = 'deny';
    async execute(context: SessionStartContext) {
      greeted.push(context);
      if (hanging.delete(context.sessionId ?? '')) await new Promise(() => {});
      return { context: `You have greeted ${context.sessionId}.` };
    }
  }
  return { name: 'greet', options: z.strictObject({}), create: () => new Greet() };
}

describe('a conversation', () => {
  const greeted: SessionStartContext[] = [];
  const hanging = new Set<string>();
  let rig: CaseRig;
  let other: EngineFixture;

  beforeAll(async () => {
    rig = await startRig({
      agents: [agent('buyer', { hooks: [{ name: 'greet', options: {} }] })],
      hookKinds: [greeting(greeted, hanging)],
    });
    other = await rig.another();
  });
  afterAll(() => rig.stop());
  beforeEach(() => {
    rig.payments.calls.length = 0;
    rig.model.requests.length = 0;
    greeted.length = 0;
  });

  const said = (session: string) =>
    rig.model.requests.filter(({ messages }) =>
      messages[0]?.content?.includes(`You have greeted ${session}.`),
    ).length;

  it('is opened once by ten first runs at the same moment, in two processes, and each of them hears of it', async () => {
    const runs = await Promise.all(
      Array.from({ length: 10 }, (_, place) =>
        (place % 2 === 0 ? rig.engine : other).start({ agent: BUYER, session: 'ten', input: script() }),
      ),
    );
    for (const { id } of runs) expect((await rig.engine.finished(id)).status).toBe('succeeded');
    expect(greeted.length).toBe(1);
    expect(said('ten')).toBe(10);
  });

  it('167: whose worker dies in the middle of it keeps no other one, and is itself taken up by the next process', async () => {
    const dying = await rig.another();
    hanging.add('mine');
    const opening = await dying.start({ agent: BUYER, session: 'mine', input: script() });
    await until(() => greeted.length === 1);
    // Of the same conversation, while it is opened; and one that waits for people in another one.
    const behind = await rig.engine.start({ agent: BUYER, session: 'mine', input: script() });
    const paying = await dying.start({ agent: BUYER, session: 'theirs', input: script([pay()]) });
    const request = await onlyRequest(rig.engine, paying.id);

    await leaveRuns([opening.id, paying.id]);
    const unrelated = await rig.engine.start({ agent: BUYER, session: 'theirs', input: script() });
    expect((await rig.engine.finished(unrelated.id)).status).toBe('succeeded');
    await rig.engine.decide(request.id, 'approve');
    for (const { id } of [paying, opening, behind])
      expect((await rig.engine.finished(id)).status).toBe('succeeded');
    expect(rig.payments.callsTo('/payments').length).toBe(1);
    // Once by who died, and once by who took it up; `theirs` once.
    expect(greeted.map(({ sessionId }) => sessionId).toSorted()).toEqual(['mine', 'mine', 'theirs']);
    expect([said('mine'), said('theirs')]).toEqual([2, 3]);
  });

  it('167: whose opening nobody takes up again is opened by the next run once the time to ask is over', async () => {
    const dying = await rig.another();
    hanging.add('stale');
    const opening = await dying.start({ agent: BUYER, session: 'stale', input: script() });
    await until(() => greeted.length === 1);
    // Its worker lives on in the dark, for as long as it likes: the time to ask is all that counts.
    const behind = await rig.engine.start({ agent: BUYER, session: 'stale', input: script() });
    await rig.database.connection.execute(
      sql`update sessions set asking_until = clock_timestamp() where session = 'stale'`,
    );
    expect((await rig.engine.finished(behind.id)).status).toBe('succeeded');
    expect(greeted.length).toBe(2);
    expect(said('stale')).toBe(1);
    await rig.engine.engine.runs.cancel(opening.id);
  });

  /** As if the process that works on them had been killed: their lease is nobody's, and it knows nothing of it. */
  async function leaveRuns(ids: readonly RunId[]): Promise<void> {
    for (const id of ids)
      await rig.database.connection.execute(
        sql`update runs set lease_owner = null, fencing_token = fencing_token + 1 where id = ${id}`,
      );
  }
});
