import { sql } from 'drizzle-orm';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { OutgoingReminder, SendOutcome } from '../../src/channel/channel.ts';
import { ReminderWorker } from '../../src/channel/reminder-worker.ts';
import { systemClock } from '../../src/clock.ts';
import { reminderText } from '../../src/confirmation/reminder-text.ts';
import type { Database } from '../../src/db/database.ts';
import { createReminderOutbox } from '../../src/db/reminder-store.ts';
import { rowsOf } from '../../src/db/rows-of.ts';
import { agentId, type ConfirmationId, channelId } from '../../src/ids.ts';
import { type Core, POLICY, person, startCore } from '../support/core.ts';
import { DATABASES } from '../support/databases.ts';
import { until } from '../support/until.ts';
import { ScriptedChannel } from './scripted-channel.ts';

const ARGS = { amount: '68000.00', currency: 'CNY', payee: 'Acme' };
const AGENT = { type: 'key', id: 'procurement', agent: agentId('procurement') } as const;
const SLACK = { provider: 'slack', app: 'A0', tenant: 'T0', chat: 'C0' };

/** A chat that keeps its notes, whose next answers a test can script. */
class RemindingChannel extends ScriptedChannel {
  readonly notes: OutgoingReminder[] = [];
  readonly answers: SendOutcome[] = [];

  async remind(note: OutgoingReminder): Promise<SendOutcome> {
    const answer = this.answers.shift() ?? { kind: 'sent', messageId: note.messageId };
    if (answer.kind !== 'retry') this.notes.push(note);
    return answer;
  }
}

describe.each(DATABASES)('reminders on $name', ({ open }) => {
  let database: Database;
  let core: Core;
  let channel: RemindingChannel;

  beforeAll(async () => {
    database = await open();
    core = startCore(database);
  });
  beforeEach(() => {
    channel = new RemindingChannel(channelId('pay-slack'), SLACK);
    core.policy = { ...POLICY, remindAfterMs: 50 };
  });
  afterAll(async () => {
    core.stop();
    await database.close();
  });

  const newWorker = () =>
    new ReminderWorker({
      outbox: createReminderOutbox(database),
      channels: [channel],
      async textOf({ confirmationId, kind, locale }) {
        const request = await core.service.get(confirmationId);
        return (
          request &&
          reminderText({ request, freeze: null, kind, locale, timeZone: 'UTC', publicUrl: 'http://gate' })
        );
      },
      clock: systemClock,
      logger: pino({ level: 'silent' }),
      random: () => 0,
    });

  /** The card of a request stands in the chat, and shows all that there will be. */
  const showsTheNewest = (id: ConfirmationId) =>
    database.connection.execute(
      sql`update deliveries set state = 'sent', message_ids = array['100.1'], shown_version = 100 where confirmation_id = ${id}`,
    );
  /** Approved by the one person that it takes. */
  const approved = async (policy = POLICY): Promise<ConfirmationId> => {
    core.policy = policy;
    const id = await core.pending(ARGS);
    await showsTheNewest(id);
    const vote = { person: person('li.wei'), verdict: 'approve', reason: null, argsDigest: null } as const;
    await core.service.decide({ id, ...vote, surface: { kind: 'api' } });
    return id;
  };
  const ran = async (status: 'succeeded' | 'failed' | 'unknown'): Promise<ConfirmationId> => {
    const id = await approved();
    await core.service.claim({ id, args: ARGS, actor: AGENT });
    await core.service.recordOutcome({ id, status, detail: null, actor: AGENT });
    return id;
  };
  const said = () => channel.notes.map(({ text }) => text);

  /** A request whose card stands in the chat, and whose reminder is due. */
  const remindedRequest = async (): Promise<ConfirmationId> => {
    const id = await core.pending();
    await showsTheNewest(id);
    await until(async () => {
      await core.sweeper.sweep();
      const request = await core.service.get(id);
      return request?.remindedAt != null || request?.escalatedAt != null;
    });
    return id;
  };
  const states = async (id: ConfirmationId) =>
    (
      await rowsOf<{ state: string }>(
        database.connection,
        sql`select r.state from reminders r join deliveries d on d.id = r.delivery_id where d.confirmation_id = ${id}`,
      )
    ).map(({ state }) => state);

  it('are posted once under the card, however many processes run', async () => {
    const id = await remindedRequest();
    await Promise.all([newWorker().run(), newWorker().run(), newWorker().run()]);
    await newWorker().run();
    expect(channel.notes).toHaveLength(1);
    expect(channel.notes[0]).toMatchObject({
      messageId: '100.1',
      text: expect.stringMatching(/^Reminder, still open: Approval needed · 68,000\.00 CNY/),
    });
    expect(await states(id)).toEqual(['sent']);
  });

  it('say whom an escalation added', async () => {
    core.policy = { ...POLICY, escalation: { afterMs: 50, to: [person('voter-3')] } };
    await remindedRequest();
    await newWorker().run();
    expect(channel.notes.map(({ text }) => text)).toEqual([
      expect.stringContaining('Escalated, now also asked: voter-3 (0/1, as many approvals as before)'),
    ]);
  });

  it('call for somebody to look where nobody knows the outcome, once, and not once it is settled', async () => {
    await ran('unknown');
    await newWorker().run();
    await newWorker().run();
    expect(said()).toEqual([
      expect.stringMatching(
        /^Somebody has to look: nobody knows whether this call took effect\..*68,000\.00 CNY/,
      ),
    ]);
    const settled = await ran('unknown');
    await core.service.settle({
      id: settled,
      person: person('li.wei'),
      status: 'succeeded',
      detail: 'on the statement',
      surface: { kind: 'api' },
    });
    await newWorker().run();
    expect(said().slice(1)).toEqual([expect.stringMatching(/^✅ Done at .* \(checked by a person\)\./)]);
    expect((await states(settled)).sort()).toEqual(['queued', 'sent']);
  });

  it('say quietly, once, that a call is done, which call, and by which code it is found', async () => {
    const id = await ran('succeeded');
    const { verificationCode } = (await core.service.get(id)) ?? {};
    await Promise.all([newWorker().run(), newWorker().run()]);
    await newWorker().run();
    expect(channel.notes).toMatchObject([{ messageId: '100.1', quiet: true }]);
    expect(said()[0]).toMatch(
      new RegExp(
        `^✅ Done at \\d{4}-.* \\(UTC, UTC\\+0\\) \\(reported by the agent\\)\\. bank__transfer 68,000\\.00 CNY, verification code ${verificationCode}\\.$`,
      ),
    );
    expect(await states(id)).toEqual(['sent']);
  });

  it('say why an approved call did not run, and who stopped it, after what calls for somebody', async () => {
    const id = await approved();
    await core.service.revoke({ id, person: person('li.wei'), reason: null, surface: { kind: 'api' } });
    const late = await approved({ ...POLICY, executeWithinMs: 1 });
    await until(async () => {
      await core.sweeper.sweep();
      return (await states(late)).length > 0;
    });
    await ran('failed');
    await newWorker().run();
    expect(said()).toEqual([
      expect.stringContaining('has failed'),
      expect.stringMatching(/^🚫 Did not run: an approver took the approval back \(li\.wei\)\. /),
      expect.stringMatching(/^⌛ Did not run in time; the approval is void\. /),
    ]);
  });

  it('about a result wait until no card of the chat is behind, and what calls for somebody does not', async () => {
    const done = await ran('succeeded');
    const failed = await ran('failed');
    await showsTheNewest(failed);
    const card = await core.pending();
    await newWorker().run();
    expect(said()).toEqual([expect.stringContaining('has failed')]);
    expect(channel.notes[0]).toMatchObject({ quiet: false });

    await showsTheNewest(card);
    await database.connection.execute(
      sql`update deliveries set shown_version = 1, next_attempt_at = now() + interval '1 hour' where confirmation_id = ${done}`,
    );
    await newWorker().run();
    expect(await states(done)).toEqual(['queued']);
    // Given up on: the note is all that the chat will ever be told.
    await database.connection.execute(
      sql`update deliveries set next_attempt_at = 'infinity' where confirmation_id = ${done}`,
    );
    await newWorker().run();
    expect(await states(done)).toEqual(['sent']);
  });

  it('about a result are not for a card that stands in no chat', async () => {
    const id = await approved();
    await database.connection.execute(
      sql`update deliveries set state = 'failed', message_ids = '{}' where confirmation_id = ${id}`,
    );
    await core.service.cancel({ id, actor: { type: 'system' }, reason: null });
    expect((await core.service.get(id))?.status).toBe('approved');
    expect(await states(id)).toEqual([]);
  });

  it('that may have arrived are not repeated, also after a crash in the middle', async () => {
    const id = await remindedRequest();
    channel.answers.push({ kind: 'uncertain', error: 'no answer' });
    await newWorker().run();
    await newWorker().run();
    expect(channel.notes).toHaveLength(1);
    expect(await states(id)).toEqual(['uncertain']);

    const crashed = await remindedRequest();
    await createReminderOutbox(database).claim({ channel: channel.id });
    await newWorker().run();
    expect(channel.notes).toHaveLength(1);
    expect(await states(crashed)).toEqual(['sending']);
  });

  it('that did not arrive are posted later', async () => {
    const id = await remindedRequest();
    channel.answers.push({ kind: 'retry', error: 'rate limited', retryAfterMs: 1 });
    await newWorker().run();
    expect(await states(id)).toEqual(['queued']);
    await database.connection.execute(
      sql`update reminders set next_attempt_at = now() where state = 'queued'`,
    );
    await newWorker().run();
    expect(await states(id)).toEqual(['sent']);
  });

  it('of a request that was closed meanwhile are not posted', async () => {
    const id = await remindedRequest();
    await core.service.cancel({ id, actor: { type: 'system' }, reason: null });
    await newWorker().run();
    expect(channel.notes).toEqual([]);
  });
});
