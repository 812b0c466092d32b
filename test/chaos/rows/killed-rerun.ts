import { call, PAYMENT, read } from '../../e2e/api.ts';
import { KEYS } from '../../e2e/platforms.ts';
import { runStatement } from '../../support/run-statement.ts';
import { until } from '../../support/until.ts';
import type { ChaosRow } from '../row.ts';
import { sideBySide } from '../side-by-side.ts';
import { type KillPoint, Victim } from '../victim.ts';

/** A call of unknown outcome, and the request to run it again. */
interface Rerun {
  readonly run: string;
  readonly first: string;
  readonly again: string;
  readonly key: string;
}

interface Expected {
  /** What becomes of the request to run it again. */
  readonly execution: 'succeeded' | 'unknown';
  /** How often the call was sent in all, the first attempt included. */
  readonly sent: number;
}

interface Kill extends Expected {
  readonly name: string;
  point(count: number, reruns: readonly Rerun[]): KillPoint | readonly KillPoint[];
}

/** Each stands where the service holds a connection, of which it has ten. */
const TOGETHER = 5;

const NOTES_ANSWER = 'update "invocations" set "status"';

const KILLS: readonly Kill[] = [
  {
    name: 'decided',
    point: (_count, reruns) =>
      reruns.map(({ again }) => ({ says: ['insert into votes', again], heldAt: 'commit answered' })),
    execution: 'succeeded',
    sent: 2,
  },
  {
    name: 'taken up, not claimed',
    point: (count) => ({ says: ['from "gate_controls"'], times: count }),
    execution: 'succeeded',
    sent: 2,
  },
  {
    name: 'claimed, not sent',
    point: (count) => ({ says: ['from "gate_controls"'], heldAt: 'commit answered', times: count }),
    execution: 'unknown',
    sent: 1,
  },
  {
    name: 'sent, the answer not noted',
    point: (count) => ({ says: [NOTES_ANSWER], times: count }),
    execution: 'unknown',
    sent: 2,
  },
  {
    name: 'the answer noted on the call alone',
    point: (count) => ({ says: [NOTES_ANSWER], heldAt: 'answered', times: count }),
    execution: 'succeeded',
    sent: 2,
  },
];

export const killedRerun: ChaosRow = {
  id: 'F29',
  title: `a call of unknown outcome run again, the service killed at ${KILLS.length} points of that`,
  volume: { usual: 1, full: 50 },
  async run({ databaseUrl, rounds }) {
    const victim = await Victim.start(databaseUrl);
    const left: (Rerun & Kill)[] = [];
    const wrong: string[] = [];
    try {
      for (const kill of KILLS) {
        for (let done = 0; done < rounds; done += TOGETHER) {
          await victim.begin();
          const count = Math.min(TOGETHER, rounds - done);
          const reruns = await Promise.all(Array.from({ length: count }, () => askAgain(victim)));
          await victim.killAt(kill.point(count, reruns), () =>
            Promise.all(reruns.map(({ again }) => approve(victim, again))),
          );
          await victim.letTimePass();
          left.push(...reruns.map((rerun) => ({ ...rerun, ...kill })));
        }
      }
      // Nobody is left who could still send: what was claimed may be given up at once.
      await runStatement(
        databaseUrl,
        `update confirmations set claimed_at = claimed_at - interval '1 minute', send_by = send_by - interval '1 minute'
         where execution_status = 'claimed'`,
      );
      await victim.begin();
      await sideBySide(
        left.length,
        async (index) => {
          const one = left[index];
          if (one === undefined) return;
          const fault = await verify(victim, one).catch((error: unknown) => String(error));
          if (fault !== null) wrong.push(`${one.name}: ${fault}`);
        },
        12,
      );
    } finally {
      await victim.stop();
    }
    const doubled = left.filter((one) => sentOf(victim, one) > one.sent).length;
    return {
      tried: left.length,
      lost: wrong.length,
      doubled,
      letIn: 0,
      note: wrong.length === 0 ? 'each as it should be' : wrong.join('; '),
    };
  },
};

/** Starts a run whose call breaks off, and has people asked to run that again. */
async function askAgain(victim: Victim): Promise<Rerun> {
  const { url } = victim.service;
  const run = await victim.startRun('plan', 'oa__again', { ...PAYMENT, mark: `mark-${Math.random()}` });
  const first = await until(
    async () => {
      const [invocation] = await invocationsOf(victim, run);
      return invocation?.status === 'waiting' ? invocation : null;
    },
    { what: 'the run waits' },
  );
  await approve(victim, first.confirmation);
  await until(async () => (await read(url, first.confirmation)).execution.status === 'unknown', {
    what: 'an unknown outcome',
  });
  await runStatement(
    victim.databaseUrl,
    `update confirmations set settle_from = clock_timestamp(), settle_open = false where id = '${first.confirmation}'`,
  );
  const settled = await call<{ supersededBy: string | null }>(
    url,
    'POST',
    `/v1/confirmations/${first.confirmation}/settlement`,
    { key: KEYS.liWei, body: { status: 'run_again', detail: 'nothing at the bank' } },
  );
  const again = settled.body.supersededBy;
  if (!again) throw new Error(`Not asked again: ${JSON.stringify(settled)}`);
  return { run, first: first.confirmation, again, key: first.id };
}

const invocationsOf = async (victim: Victim, run: string) =>
  (
    await call<{ invocations: { id: string; confirmation: string; status: string }[] }>(
      victim.service.url,
      'GET',
      `/v1/runs/${run}`,
      { key: KEYS.admin },
    )
  ).body.invocations;

async function approve(victim: Victim, id: string) {
  const { argsDigest } = await read(victim.service.url, id);
  const body = { verdict: 'approve', argsDigest };
  return call(victim.service.url, 'POST', `/v1/confirmations/${id}/votes`, { key: KEYS.liWei, body });
}

const sentOf = ({ tools }: Victim, { key }: Rerun): number =>
  tools.callsTo('/flaky').filter(({ headers }) => headers['idempotency-key'] === key).length;

async function verify(victim: Victim, one: Rerun & Expected): Promise<string | null> {
  const { url } = victim.service;
  await until(async () => (await read(url, one.again)).execution.status === one.execution, {
    deadlineMs: 60_000,
    what: one.execution,
  });
  // The run goes on with a known outcome, and waits for a person with an unknown one.
  const status = one.execution === 'succeeded' ? 'succeeded' : 'waiting';
  const runStatus = async () =>
    (await call<{ status: string }>(url, 'GET', `/v1/runs/${one.run}`, { key: KEYS.admin })).body.status;
  await until(async () => (await runStatus()) === status, { deadlineMs: 30_000, what: `the run ${status}` });
  const sent = sentOf(victim, one);
  return sent === one.sent ? null : `sent ${sent} times instead of ${one.sent}`;
}
