import pg from 'pg';
import { POLL_INTERVAL_MS } from '../src/confirmation/waiter.ts';
import { connectPostgres } from '../src/db/connect-postgres.ts';
import { person, startCore } from '../test/support/core.ts';
import { type BenchRow, quantile } from './bench-row.ts';

const ROUNDS = 400;
const ROUNDS_WITHOUT_NOTIFY = 12;

/** From a committed decision in one process to the waiter resumed in another, against a bare NOTIFY and a re-read. */
export async function benchDecisionToResume(databaseUrl: string): Promise<BenchRow[]> {
  const bare = await bareNotifyMs(databaseUrl);
  const resumed = await resumeMs(databaseUrl, { listen: true, rounds: ROUNDS });
  const polled = await resumeMs(databaseUrl, { listen: false, rounds: ROUNDS_WITHOUT_NOTIFY });
  const row = (fraction: number, name: string, goal: string): BenchRow => ({
    name: `decision → waiter resumed, ${name}`,
    value: quantile(resumed, fraction),
    unit: 'ms',
    reference: quantile(bare, fraction),
    referenceName: `bare NOTIFY and re-read, ${name}`,
    ratio: quantile(resumed, fraction) / quantile(bare, fraction),
    goal,
  });
  return [
    row(0.5, 'p50', '≤ 3× and ≤ 10 ms'),
    row(0.99, 'p99', '≤ 50 ms'),
    {
      name: 'the same with NOTIFY switched off, slowest',
      value: quantile(polled, 1),
      unit: 'ms',
      reference: POLL_INTERVAL_MS,
      referenceName: 'poll interval',
      ratio: quantile(polled, 1) / POLL_INTERVAL_MS,
      goal: `≤ ${POLL_INTERVAL_MS + 250} ms`,
    },
  ];
}

async function resumeMs(url: string, options: { readonly listen: boolean; readonly rounds: number }) {
  const deciding = await connectPostgres({ url });
  const waiting = await connectPostgres({ url, listen: options.listen });
  const [decider, waiter] = [startCore(deciding), startCore(waiting)];
  const times: number[] = [];
  for (let round = 0; round < options.rounds; round += 1) {
    const id = await decider.pending();
    const resumed = waiter.service
      .wait({ id, timeoutMs: 30_000, signal: new AbortController().signal })
      .then(() => performance.now());
    // The wait has read its row and depends on being woken from here on.
    await new Promise((resolve) => setTimeout(resolve, 5));
    const decided = await decider.service
      .decide({
        id,
        person: person('li.wei'),
        verdict: 'approve',
        reason: null,
        argsDigest: null,
        surface: { kind: 'api' },
      })
      .then(() => performance.now());
    times.push(Math.max(0, (await resumed) - decided));
  }
  for (const core of [decider, waiter]) core.stop();
  await Promise.all([deciding.close(), waiting.close()]);
  return times;
}

/** What PostgreSQL alone takes: one process notifies, another hears it and reads one row. */
async function bareNotifyMs(url: string): Promise<number[]> {
  const connect = async () => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    return client;
  };
  const [sender, listener, reader] = [await connect(), await connect(), await connect()];
  let heard: () => void = () => {};
  listener.on('notification', () => heard());
  await listener.query('listen bench');
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const arrived = new Promise<void>((resolve) => {
      heard = resolve;
    });
    const started = performance.now();
    await Promise.all([
      sender.query('select pg_notify($1, $2)', ['bench', String(round)]),
      arrived.then(() => reader.query('select * from confirmations limit 1')),
    ]);
    times.push(performance.now() - started);
  }
  await Promise.all([sender.end(), listener.end(), reader.end()]);
  return times;
}
