import { call } from '../../e2e/api.ts';
import { KEYS } from '../../e2e/platforms.ts';
import { runStatement } from '../../support/run-statement.ts';
import { until } from '../../support/until.ts';
import type { ChaosContext, ChaosResult, ChaosRow } from '../row.ts';
import { sideBySide } from '../side-by-side.ts';
import { CHAT_IDS } from '../traffic/chat.ts';
import { type Company, startCompany } from '../traffic/company.ts';
import { scriptOf } from '../traffic/scripts.ts';
import { SendErrors } from '../traffic/send-errors.ts';
import { Storyteller, type Told } from '../traffic/story.ts';
import { trafficTable } from '../traffic/traffic-table.ts';
import { doubledCards, type EndedRow, type SeenRequest, untruth, wrongEnd } from '../traffic/true-cards.ts';

/** Ten requests a minute, sixty times as fast. */
const ASKED_EVERY_MS = 100;
const FULL = 600;
/** The last card may have met several errors in a row, each ten seconds until it is given up and a back-off on top. */
const TRUE_WITHIN_MS = 120_000;
/** What had no answer is done once more when nothing of it can be under way: the last look comes after that. */
const AT_REST_AFTER_MS = 15_000;

export const squeezedHour: ChaosRow = {
  id: 'F28',
  title: "an hour's traffic in a minute: 40 people, 4 chats, 5 % send errors, two disconnects, one kill -9",
  volume: { usual: 60, full: FULL },
  async run(context) {
    // At test size nothing is waited for longer than it takes to see it.
    const isFull = context.rounds === FULL;
    const errors = new SendErrors({ mostTimeouts: isFull ? Number.POSITIVE_INFINITY : 3 });
    const briefSeconds = isFull ? 20 : 3;
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
  const startedAt = performance.now();
  let absentMs = 0;
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
  const stories: Promise<Told | string>[] = [];
  for (let number = 0; number < rounds; number += 1) {
    await pauseUntil(startedAt + number * ASKED_EVERY_MS);
    happened.push(happens[number]?.() ?? Promise.resolve());
    stories.push(teller.play(scriptOf(number)).catch((error: unknown) => `request ${number}: ${error}`));
  }
  const askedMs = performance.now() - startedAt;
  await Promise.all(happened);
  const ended = await Promise.all(stories);
  const told = ended.filter((one) => typeof one !== 'string');

  await until(async () => (await look(company, told)).every(({ untruth: wrong }) => wrong === null), {
    deadlineMs: TRUE_WITHIN_MS,
    what: 'every card true',
  }).catch(() => {});
  const trueMs = performance.now() - teller.lastEndAt;
  let missing: string | null = null;
  const isIntact = async () => {
    missing = await missingIn(company.url);
    return missing === null;
  };
  await until(isIntact, { deadlineMs: 30_000 }).catch(() => {});
  if (rounds === FULL) await pauseUntil(performance.now() + AT_REST_AFTER_MS);
  const seen = await look(company, told);

  const faults = [
    ...ended.filter((one) => typeof one === 'string'),
    ...seen.flatMap(({ one, row, untruth: wrong }) => [wrong, wrongEnd(one, row)?.why ?? null]),
    missing,
  ].filter((fault) => fault !== null);
  const letIn = seen.filter(({ one, row }) => wrongEnd(one, row)?.kind === 'let in').length;
  const doubled = told.map((one) => doubledCards(company, errors, one));
  return {
    tried: rounds,
    lost: faults.length - letIn,
    doubled: doubled.reduce((total, { unexplained }) => total + unexplained, 0),
    letIn,
    note: faults.slice(0, 5).join('; ') || 'every card tells the truth, the record is intact',
    table: trafficTable({
      ...{ company, errors, teller, seen, askedMs, absentMs, trueMs },
      duplicates: doubled.reduce((total, { duplicates }) => total + duplicates, 0),
    }),
  };
}

/** Every request's row as it is now, and what its cards say that is not so. */
function look(company: Company, told: readonly Told[]): Promise<readonly SeenRequest[]> {
  return sideBySide(told.length, async (index) => {
    const one = told[index] as Told;
    const { body: row } = await call<EndedRow>(company.url, 'GET', `/v1/confirmations/${one.id}`, {
      key: KEYS.auditor,
    });
    return { one, row, untruth: untruth(company, one, row) };
  });
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

/** Null where all connections are back, and nobody has touched the record; else what the service says instead. */
async function missingIn(url: string): Promise<string | null> {
  const ready = await call<{ ready: boolean }>(url, 'GET', '/readyz');
  const verified = await call<{ ok: boolean }>(url, 'GET', '/v1/audit/verify', { key: KEYS.auditor });
  const said = JSON.stringify(ready.body);
  if (!verified.body.ok) return `the record is not intact: ${JSON.stringify(verified.body)}`;
  return ready.body.ready && /2 of 2 connections.*2 of 2 connections/.test(said)
    ? null
    : `not ready: ${said}`;
}

const pauseUntil = (at: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, Math.max(0, at - performance.now())));
