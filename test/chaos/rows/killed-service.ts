import { call } from '../../e2e/api.ts';
import { KEYS } from '../../e2e/platforms.ts';
import { runStatement } from '../../support/run-statement.ts';
import { until } from '../../support/until.ts';
import type { Check, Fault, Kill, Verify } from '../kills/kill.ts';
import { KILL_POINTS } from '../kills/kill-points.ts';
import type { ChaosRow } from '../row.ts';
import { sideBySide } from '../side-by-side.ts';
import { PATIENCE_MS, Victim } from '../victim.ts';
import { killInMigrations } from './killed-migrations.ts';

/** One SIGKILL. */
interface Round {
  readonly point: Kill;
  /** How many requests or runs stand at the point. */
  readonly count: number;
  readonly turn: number;
  readonly leasesLapse: boolean;
}

/** Databases on which one process after another is killed and the next one started; most of such a round is waiting. */
const RESTARTING = 2;
/** Databases on which another process lives on beside all that are killed, and takes over. */
const TAKING_OVER = 1;

export const killedService: ChaosRow = {
  id: 'F12',
  title: `a process killed at each of ${KILL_POINTS.length} points and in migrations, what stood there taken up by the next process or by another live one (cases 046, 166)`,
  volume: { usual: 10, full: 50 },
  async run({ databaseUrl, rounds }) {
    const { restarting, takingOver } = roundsOf(rounds);
    const tally = new Tally();
    const lanes = [
      ...Array.from({ length: RESTARTING }, () => (url: string) => restartAfterEach(url, restarting, tally)),
      ...Array.from({ length: TAKING_OVER }, () => (url: string) => takeOverEach(url, takingOver, tally)),
    ];
    const urls = await copiesOf(databaseUrl, lanes.length);
    const [migrations] = await Promise.all([
      killInMigrations(databaseUrl, rounds),
      ...lanes.map((lane, index) => lane(urls[index] ?? '')),
    ]);
    const wrong = [...migrations.wrong, ...tally.wrong.map(({ what }) => what)];
    const doubled = tally.wrong.filter(({ kind }) => kind === 'doubled').length;
    return {
      tried: tally.kills + migrations.tried,
      lost: wrong.length - doubled,
      doubled,
      letIn: 0,
      note: `each tried is a SIGKILL; ${tally.checked} requests stood there; ${wrong.length === 0 ? 'each as it should be' : wrong.join('; ')}`,
      table: [...tally.table(), ['in migrations', `${migrations.tried} kills`]],
    };
  },
};

/** As many for each point; every other one beside another live process, where that can be. */
function roundsOf(rounds: number): { restarting: Round[]; takingOver: Round[] } {
  const restarting: Round[] = [];
  const takingOver: Round[] = [];
  for (const point of KILL_POINTS) {
    for (let round = 0; round < rounds; round += 1) {
      const isLast = round === rounds - 1;
      const beside = point.besideAnother && !isLast && round % 2 === 0;
      (beside ? takingOver : restarting).push({
        point,
        count: isLast ? point.together : 1,
        turn: Math.floor(round / 2),
        leasesLapse: beside && round === 0 && point.leasesLapse === true,
      });
    }
  }
  return { restarting, takingOver };
}

/** Takes rounds until none is left; after each the next process starts, and what the last one left is checked. */
async function restartAfterEach(databaseUrl: string, left: Round[], tally: Tally): Promise<void> {
  const victim = await Victim.start(databaseUrl);
  const later: (() => Promise<void>)[] = [];
  try {
    let round = left.shift();
    await victim.begin(round?.point);
    while (round !== undefined) {
      const { point, count, turn } = round;
      const checks = await point.kill(victim, count, turn);
      await victim.letTimePass();
      round = left.shift();
      await victim.begin(round?.point);
      later.push(...(await checkNow(victim, point, checks, tally)));
      tally.killed(point, { restarted: true });
    }
    await checkAtLast(victim, later, tally);
  } finally {
    await victim.stop();
  }
}

/** The same beside a process that lives: it alone is there when a process was killed, and the next one starts after. */
async function takeOverEach(databaseUrl: string, left: Round[], tally: Tally): Promise<void> {
  const victim = await Victim.start(databaseUrl);
  const later: (() => Promise<void>)[] = [];
  try {
    await victim.beginOther();
    for (let round = left.shift(); round !== undefined; round = left.shift()) {
      const { point, count, turn, leasesLapse } = round;
      await victim.begin(point);
      const checks = await point.kill(victim, count, turn);
      if (!leasesLapse) await victim.letTimePass();
      later.push(...(await checkNow(victim, point, checks, tally)));
      tally.killed(point, { restarted: false });
    }
    await checkAtLast(victim, later, tally);
  } finally {
    await victim.stop();
  }
}

/** Gives what is left to check once all the killing is over. */
async function checkNow(
  victim: Victim,
  { name }: Kill,
  checks: readonly Check[],
  tally: Tally,
): Promise<(() => Promise<void>)[]> {
  await sideBySide(checks.length, async (index) => {
    const check = checks[index];
    if (check !== undefined) await tally.check(name, victim, check.soon);
  });
  tally.checked += checks.length;
  return checks.flatMap(({ atLast }) =>
    atLast === undefined ? [] : [() => tally.check(`${name}, in the end`, victim, atLast)],
  );
}

async function checkAtLast(victim: Victim, later: readonly (() => Promise<void>)[], tally: Tally) {
  await sideBySide(later.length, async (index) => later[index]?.(), 12);
  await tally.check('the record', victim, async ({ service }) => {
    const verified = async () =>
      (await call<{ ok: boolean }>(service.url, 'GET', '/v1/audit/verify', { key: KEYS.auditor })).body.ok;
    await until(verified, { deadlineMs: PATIENCE_MS, what: 'the record whole' });
    return null;
  });
}

/** What was done at each point, and what was found wrong. */
class Tally {
  readonly wrong: Fault[] = [];
  kills = 0;
  checked = 0;
  readonly #atPoint = new Map<Kill, { restarted: number; takenOver: number }>(
    KILL_POINTS.map((point) => [point, { restarted: 0, takenOver: 0 }]),
  );

  killed(point: Kill, { restarted }: { readonly restarted: boolean }): void {
    this.kills += 1;
    const counts = this.#atPoint.get(point);
    if (counts !== undefined) counts[restarted ? 'restarted' : 'takenOver'] += 1;
  }

  async check(where: string, victim: Victim, verify: Verify): Promise<void> {
    const fault = await verify(victim).catch(
      (error: unknown): Fault => ({ kind: 'lost', what: String(error) }),
    );
    if (fault !== null) this.wrong.push({ ...fault, what: `${where}: ${fault.what}` });
  }

  table(): (readonly [string, string])[] {
    return [...this.#atPoint].map(([{ name }, { restarted, takenOver }]) => [
      name,
      `${restarted + takenOver} kills, ${takenOver} of them beside another live process`,
    ]);
  }
}

/** Databases of their own, as fresh as this one. */
async function copiesOf(databaseUrl: string, count: number): Promise<readonly string[]> {
  const urls = Array.from({ length: count }, (_, index) => {
    const url = new URL(databaseUrl);
    url.pathname = `${url.pathname}_${index}`;
    return url;
  });
  const server = new URL(databaseUrl);
  const template = server.pathname.slice(1);
  // Nobody may be connected to what is copied.
  server.pathname = '/postgres';
  for (const url of urls)
    await runStatement(server.toString(), `create database ${url.pathname.slice(1)} template ${template}`);
  return urls.map(String);
}
