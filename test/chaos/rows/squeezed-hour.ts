import { call } from '../../e2e/api.ts';
import { KEYS } from '../../e2e/platforms.ts';
import { runStatement } from '../../support/run-statement.ts';
import { until } from '../../support/until.ts';
import { percentile } from '../percentile.ts';
import type { ChaosContext, ChaosResult, ChaosRow } from '../row.ts';
import { sideBySide } from '../side-by-side.ts';
import { CHAT_IDS } from '../traffic/chat.ts';
import { type Company, startCompany } from '../traffic/company.ts';
import { PEOPLE } from '../traffic/people.ts';
import { scriptOf } from '../traffic/scripts.ts';
import { SEND_ERRORS, SendErrors } from '../traffic/send-errors.ts';
import { Storyteller, type Told } from '../traffic/story.ts';
import { doubledCards, type EndedRow, untruth, wrongEnd } from '../traffic/true-cards.ts';

/** Ten requests a minute, sixty times as fast. */
const ASKED_EVERY_MS = 100;
const FULL = 600;
/** The last card may have met several errors in a row, each ten seconds until it is given up and a back-off on top. */
const TRUE_WITHIN_MS = 120_000;

export const squeezedHour: ChaosRow = {
  id: 'F28',
  title: "an hour's traffic in a minute: 40 people, 4 chats, 5 % send errors, two disconnects, one kill -9",
  volume: { usual: 60, full: FULL },
  async run(context) {
    const errors = new SendErrors();
    const briefSeconds = context.rounds < FULL ? 6 : 20;
    const company = await startCompany({ databaseUrl: context.databaseUrl, errors, briefSeconds });
    try {
      return await squeeze(context, company, errors);
    } finally {
      await company.stop();
    }
  },
};

async function squeeze(
  { rounds, databaseUrl }: ChaosContext,
  company: Company,
  errors: SendErrors,
): Promise<ChaosResult> {
  const teller = new Storyteller(company);
  const faults: string[] = [];
  const startedAt = performance.now();
  let absentMs = 0;
  const stories: Promise<Told | null>[] = [];
  const happens: Readonly<Record<number, () => Promise<void>>> = {
    [Math.floor(rounds / 4)]: async () => disconnectAll(company, 'cut'),
    [Math.floor(rounds / 2)]: async () => {
      absentMs = await company.killAndRestart(() =>
        rounds < FULL ? endLeases(databaseUrl) : Promise.resolve(),
      );
    },
    [Math.floor((rounds * 3) / 4)]: async () => disconnectAll(company, 'goodbye'),
  };
  const happened: Promise<void>[] = [];
  for (let number = 0; number < rounds; number += 1) {
    await pauseUntil(startedAt + number * ASKED_EVERY_MS);
    const event = happens[number];
    if (event !== undefined) happened.push(event());
    const story = teller.play(scriptOf(number)).catch((error: unknown) => {
      faults.push(`request ${number}: ${error instanceof Error ? error.message : String(error)}`);
      return null;
    });
    stories.push(story);
  }
  const askedMs = performance.now() - startedAt;
  await Promise.all(happened);
  const told = (await Promise.all(stories)).filter((one) => one !== null);

  const rows = await trueRows(company, told, faults);
  const trueMs = performance.now() - teller.lastEndAt;
  const counts = { lost: faults.length, doubled: 0, letIn: 0, duplicates: 0 };
  for (const one of told) {
    const row = rows.get(one.id);
    const wrong = row === undefined ? 'lost' : wrongEnd(one, row);
    if (wrong !== null)
      faults.push(`request ${one.script.number}: ${wrong}, ${row?.status}, ${JSON.stringify(row?.votes)}`);
    if (wrong === 'lost') counts.lost += 1;
    if (wrong === 'let in') counts.letIn += 1;
    const { duplicates, unexplained } = doubledCards(company, errors, one);
    counts.duplicates += duplicates;
    counts.doubled += unexplained;
  }
  const intact = await until(() => isIntact(company.url), { deadlineMs: 30_000 }).catch(() => false);
  if (!intact) counts.lost += 1;

  const waitsMs = told.flatMap(({ code, askedAt }) =>
    CHAT_IDS.flatMap((id) => {
      const since = company.chats[id].since(code);
      return since === null ? [] : [Math.max(0, since - askedAt)];
    }),
  );
  const ends = (status: string) => [...rows.values()].filter((row) => row.status === status).length;
  const chats = CHAT_IDS.map((id) => company.chats[id].counts());
  const sum = (of: (chat: (typeof chats)[number]) => number) =>
    chats.reduce((total, chat) => total + of(chat), 0);
  return {
    tried: rounds,
    ...{ lost: counts.lost, doubled: counts.doubled, letIn: counts.letIn },
    note:
      faults.length > 0 ? faults.slice(0, 5).join('; ') : 'every card tells the truth, the record is intact',
    table: [
      ['requests', `${rounds}, asked within ${seconds(askedMs)}`],
      ['people', PEOPLE],
      ...(['approved', 'rejected', 'expired', 'cancelled'] as const).map((end) => [end, ends(end)] as const),
      ['cards', sum(({ cards }) => cards)],
      [
        'closed before they were sent',
        [...rows.values()].reduce(
          (total, row) => total + row.deliveries.filter(({ error }) => error === 'closed_before_sent').length,
          0,
        ),
      ],
      ['notes under them', sum(({ notes }) => notes)],
      ['card in the chat, half within', milliseconds(percentile(waitsMs, 0.5))],
      ['card in the chat, 99 in 100', milliseconds(percentile(waitsMs, 0.99))],
      ['changes of cards', sum(({ changes }) => changes)],
      ['calls to send or change', errors.calls],
      ...SEND_ERRORS.map((kind) => [`answered with: ${kind}`, errors.counts[kind]] as const),
      ['duplicate cards', counts.duplicates],
      ['service gone for', seconds(absentMs)],
      ['taps answered', teller.answeredMs.length],
      ['taps repeated: no answer', teller.unanswered],
      ['taps repeated: not recorded', teller.notRecorded],
      ['taps by who may not', teller.intrusions],
      ['answer, 99 in 100', milliseconds(percentile(teller.answeredMs, 0.99))],
      ['slowest answer', milliseconds(Math.max(0, ...teller.answeredMs))],
      ['last card true after', seconds(trueMs)],
    ],
  };
}

/** Waits until every card shows its row's truth, and gives the rows; what is untrue at the end is a fault. */
async function trueRows(
  company: Company,
  told: readonly Told[],
  faults: string[],
): Promise<ReadonlyMap<string, EndedRow>> {
  const rows = new Map<string, EndedRow>();
  let untrue: readonly (readonly [Told, string])[] = told.map((one) => [one, 'not looked at']);
  const look = async () => {
    const looked = await sideBySide(untrue.length, async (index) => {
      const [one] = untrue[index] as readonly [Told, string];
      const { body } = await call<EndedRow>(company.url, 'GET', `/v1/confirmations/${one.id}`, {
        key: KEYS.auditor,
      });
      rows.set(one.id, body);
      return [one, untruth(company, one, body)] as const;
    });
    untrue = looked.flatMap(([one, fault]) => (fault === null ? [] : [[one, fault] as const]));
    if (untrue.length > 0) await pauseUntil(performance.now() + 200);
    return untrue.length === 0;
  };
  await until(look, { deadlineMs: TRUE_WITHIN_MS }).catch(() => {
    for (const [{ script }, fault] of untrue) faults.push(`request ${script.number}: ${fault}`);
  });
  return rows;
}

function disconnectAll(company: Company, how: 'cut' | 'goodbye'): void {
  for (const id of CHAT_IDS) company.chats[id].disconnect(how);
}

/** At test size nobody waits for the leases of a dead process to run out. */
const endLeases = async (databaseUrl: string): Promise<void> =>
  void (await runStatement(
    databaseUrl,
    'update deliveries set lease_until = now() where lease_until > now()',
  ));

/** All connections are back, and nobody has touched the record. */
async function isIntact(url: string): Promise<boolean> {
  const ready = await call<{ ready: boolean }>(url, 'GET', '/readyz');
  const verified = await call<{ ok: boolean }>(url, 'GET', '/v1/audit/verify', { key: KEYS.auditor });
  return (
    ready.body.ready &&
    verified.body.ok &&
    /2 of 2 connections.*2 of 2 connections/.test(JSON.stringify(ready.body))
  );
}

const pauseUntil = (at: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, Math.max(0, at - performance.now())));
const milliseconds = (ms: number): string => `${Math.round(ms)} ms`;
const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
