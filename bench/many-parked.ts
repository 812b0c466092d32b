import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ToolServer } from '../test/agent/tool-server.ts';
import { sideBySide } from '../test/chaos/side-by-side.ts';
import { call, PAYMENT, read } from '../test/e2e/api.ts';
import { KEYS, startPlatforms, yamlFor } from '../test/e2e/platforms.ts';
import { startServiceProcess } from '../test/e2e/service-process.ts';
import { programArguments } from '../test/support/built-programs.ts';
import { runStatement } from '../test/support/run-statement.ts';
import { until } from '../test/support/until.ts';
import { type BenchRow, quantile } from './bench-row.ts';
import { multiplyParkedRuns } from './multiply-parked-runs.ts';

/** Parked by the service itself; the others are copies of their rows. */
const PARKED_FOR_REAL = 1_000;
const PARKED = 100_000;
const STARTED_AT_ONCE = 16;
const DECIDED = 20;
/** What a process does once, when it starts, is over by then. */
const SETTLED_AFTER_MS = 12_000;
const WATCHED_MS = 20_000;
const LOOK_EVERY_MS = 20;

/** How much more a process may need over all of them than over none. */
const MOST_MEMORY_MIB = 20;
const MOST_TRANSACTIONS = 2;
const MOST_ROWS_READ = 1_000;

/** What a service process that has nothing to do costs, and how it answers. */
interface Idle {
  readonly startMs: number;
  readonly memoryMib: number;
  readonly transactionsPerSecond: number;
  readonly rowsReadPerSecond: number;
  readonly healthMs: readonly number[];
  /** Empty where nothing is parked. */
  readonly resumedMs: readonly number[];
}

/**
 * That parked runs cost rows and nothing else: one real service process after another over none, a thousand and a
 * hundred thousand of them. Its memory, its talk with the database while it has nothing to do, its answers, its start,
 * and how long a payment takes from the vote to the tool once its run, one among them, is approved.
 */
export async function benchManyParked(databaseUrl: string): Promise<BenchRow[]> {
  const tools = new ToolServer();
  const platforms = await startPlatforms();
  const yaml = yamlFor({
    platforms,
    databaseUrl,
    dataDir: join(tmpdir(), 'countersign-bench-unused'),
    changes: payingAgent(await tools.start()),
  });
  const watched = { databaseUrl, yaml, tools };
  try {
    // The first start would count the putting together of the program.
    await programArguments('service');
    const none = await watch({ ...watched, decided: 0 });
    await parkForReal(databaseUrl, yaml);
    const some = await watch({ ...watched, decided: DECIDED });
    await multiplyParkedRuns(databaseUrl, Math.ceil(PARKED / (PARKED_FOR_REAL - DECIDED)) - 1);
    const parked = (await parkedRuns(databaseUrl)).length;
    const many = await watch({ ...watched, decided: DECIDED });
    return figures({ none, some, many, parked });
  } finally {
    await Promise.all([platforms.stop(), tools.stop()]);
  }
}

const payingAgent = (toolsUrl: string): string => `
parkAfter: 1s
agents:
  - { id: payer, owner: zhao.min, executor: dag, tools: ["oa__*"] }
connectors:
  - id: oa
    kind: http
    baseUrl: ${toolsUrl}
    tools:
      - { name: pay, description: Pays., path: /payments, requiresConfirmation: true }
defaultPolicy: { approvers: ["group:finance"], decideWithin: 24h, channels: [pay-slack] }
`;

async function parkForReal(databaseUrl: string, yaml: string): Promise<void> {
  const service = await startServiceProcess(yaml);
  await sideBySide(
    PARKED_FOR_REAL,
    async (index) => {
      const plan = { nodes: [{ id: 'pay', tool: 'oa__pay', args: { ...PAYMENT, payee: `payee ${index}` } }] };
      const body = { agent: 'payer', input: 'Pay.', plan };
      const { status } = await call(service.url, 'POST', '/v1/runs', { key: KEYS.admin, body });
      if (status !== 202) throw new Error(`No run: ${status}`);
    },
    STARTED_AT_ONCE,
  );
  const allAtRest = async () =>
    (await parkedRuns(databaseUrl)).length === PARKED_FOR_REAL && (await unsentCards(databaseUrl)) === 0;
  await until(allAtRest, { deadlineMs: 180_000, what: 'all parked, each with its card' });
  await service.stop();
}

interface ParkedRun {
  readonly confirmation: string;
}

const parkedRuns = (databaseUrl: string) =>
  runStatement<ParkedRun>(
    databaseUrl,
    `select confirmations.id as confirmation from runs join confirmations on confirmations.run_id = runs.id
     where parked_at is not null order by md5(runs.id::text)`,
  );

async function unsentCards(databaseUrl: string): Promise<number> {
  const rows = await runStatement(databaseUrl, `select id from deliveries where state <> 'sent'`);
  return rows.length;
}

async function watch(input: {
  readonly databaseUrl: string;
  readonly yaml: string;
  readonly tools: ToolServer;
  readonly decided: number;
}): Promise<Idle> {
  const { databaseUrl, yaml, tools, decided } = input;
  const startedAt = performance.now();
  const service = await startServiceProcess(yaml);
  const startMs = performance.now() - startedAt;
  await rest(SETTLED_AFTER_MS);
  const before = await countersOf(databaseUrl);
  const watchedFrom = performance.now();
  const healthMs: number[] = [];
  const memoryMib: number[] = [];
  while (performance.now() - watchedFrom < WATCHED_MS) {
    const askedAt = performance.now();
    await fetch(`${service.url}/healthz`).then((response) => response.text());
    healthMs.push(performance.now() - askedAt);
    memoryMib.push(await memoryOf(service.pid));
    await rest(LOOK_EVERY_MS);
  }
  const seconds = (performance.now() - watchedFrom) / 1_000;
  const after = await countersOf(databaseUrl);
  const resumedMs: number[] = [];
  for (const { confirmation } of (await parkedRuns(databaseUrl)).slice(0, decided)) {
    const { argsDigest } = await read(service.url, confirmation);
    const arrived = tools.next();
    const votedAt = performance.now();
    await call(service.url, 'POST', `/v1/confirmations/${confirmation}/votes`, {
      key: KEYS.liWei,
      body: { verdict: 'approve', argsDigest },
    });
    resumedMs.push((await arrived) - votedAt);
  }
  const finished = async () => {
    const open = `select id from runs where finished_at is null and parked_at is null`;
    return (await runStatement(databaseUrl, open)).length === 0;
  };
  await until(finished, { deadlineMs: 30_000, what: 'the approved runs finished' });
  await service.stop();
  return {
    startMs,
    // What it holds, and not what the collector has not come to yet.
    memoryMib: Math.min(...memoryMib),
    transactionsPerSecond: (after.transactions - before.transactions) / seconds,
    rowsReadPerSecond: (after.rows - before.rows) / seconds,
    healthMs,
    resumedMs,
  };
}

const rest = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function memoryOf(pid: number): Promise<number> {
  const [, kibibytes] = /VmRSS:\s+(\d+) kB/.exec(await readFile(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kibibytes) / 1_024;
}

/** What the database has counted of itself, asked from beside it, so that asking is not counted. */
async function countersOf(
  databaseUrl: string,
): Promise<{ readonly transactions: number; readonly rows: number }> {
  const server = new URL(databaseUrl);
  const name = server.pathname.slice(1);
  server.pathname = '/postgres';
  const [row] = await runStatement<{ transactions: number; rows: number }>(
    server.toString(),
    `select (xact_commit + xact_rollback)::float8 as transactions, (tup_returned + tup_fetched)::float8 as rows
     from pg_stat_database where datname = '${name}'`,
  );
  return row ?? { transactions: Number.NaN, rows: Number.NaN };
}

function figures(input: {
  readonly none: Idle;
  readonly some: Idle;
  readonly many: Idle;
  readonly parked: number;
}): BenchRow[] {
  const { none, some, many, parked } = input;
  const row = (
    what: string,
    unit: string,
    of: (idle: Idle) => number,
    goal: { readonly goal: string; readonly met?: boolean } = { goal: 'for comparison' },
    reference: Idle = none,
  ): BenchRow => ({
    name: `${parked} parked runs: ${what}`,
    value: of(many),
    unit,
    reference: of(reference),
    referenceName:
      reference === none
        ? `${PARKED_FOR_REAL} parked: ${of(some).toFixed(2)}; none`
        : `${PARKED_FOR_REAL} parked`,
    ratio: of(many) / of(reference),
    ...goal,
  });
  return [
    row('resident memory', 'MiB', ({ memoryMib }) => memoryMib, {
      goal: `at most ${MOST_MEMORY_MIB} MiB more than with none`,
      met: many.memoryMib - none.memoryMib <= MOST_MEMORY_MIB,
    }),
    row('transactions, with nothing to do', '/s', ({ transactionsPerSecond }) => transactionsPerSecond, {
      goal: `at most ${MOST_TRANSACTIONS}× those with none`,
      met: many.transactionsPerSecond <= MOST_TRANSACTIONS * none.transactionsPerSecond,
    }),
    row('rows read, with nothing to do', '/s', ({ rowsReadPerSecond }) => rowsReadPerSecond, {
      goal: `at most ${MOST_ROWS_READ} more than with none`,
      met: many.rowsReadPerSecond - none.rowsReadPerSecond <= MOST_ROWS_READ,
    }),
    row('/healthz, p99', 'ms', ({ healthMs }) => quantile(healthMs, 0.99)),
    row('start of the process', 'ms', ({ startMs }) => startMs),
    row('vote → tool called, p50', 'ms', ({ resumedMs }) => quantile(resumedMs, 0.5), undefined, some),
    row('vote → tool called, slowest', 'ms', ({ resumedMs }) => Math.max(...resumedMs), undefined, some),
  ];
}
