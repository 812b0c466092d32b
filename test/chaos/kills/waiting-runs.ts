import { call, PAYMENT, read } from '../../e2e/api.ts';
import { KEYS } from '../../e2e/platforms.ts';
import { runStatement } from '../../support/run-statement.ts';
import { until } from '../../support/until.ts';
import { PATIENCE_MS, type Victim } from '../victim.ts';
import { approve, seldom } from './cards.ts';
import { type Check, counted, type Fault, lost } from './kill.ts';

/** A run of one payment, and the request that it waits for. */
export interface WaitingRun {
  readonly run: string;
  readonly confirmation: string;
  /** What tells its payments from those of the others. */
  readonly mark: string;
}

/** Through both executors, one after the other, beginning with another one each turn. */
export const runsToApprove = (
  victim: Victim,
  tool: 'oa__pay' | 'oa__hang',
  { count, turn }: { readonly count: number; readonly turn: number },
) =>
  Promise.all(
    Array.from({ length: count }, (_, place) =>
      runToApprove(victim, (turn + place) % 2 === 0 ? 'plan' : 'model', tool),
    ),
  );

async function runToApprove(
  victim: Victim,
  by: 'plan' | 'model',
  tool: 'oa__pay' | 'oa__hang',
): Promise<WaitingRun> {
  const mark = `mark-${Math.random()}`;
  const run = await victim.startRun(by, tool, { ...PAYMENT, mark });
  const confirmation = await until(
    async () => {
      const { body } = await call<{ invocations: { confirmation: string | null; status: string }[] }>(
        victim.service.url,
        'GET',
        `/v1/runs/${run}`,
        { key: KEYS.admin },
      );
      const [invocation] = body.invocations;
      return invocation?.status === 'waiting' ? invocation.confirmation : null;
    },
    { deadlineMs: PATIENCE_MS, what: 'the run waits' },
  );
  return { run, confirmation, mark };
}

export const approveAll = (victim: Victim, waiting: readonly WaitingRun[]) =>
  Promise.all(waiting.map(({ confirmation }) => approve(victim, confirmation)));

export const allPaying = (victim: Victim, waiting: readonly WaitingRun[]) =>
  until(() => waiting.every((one) => paymentsOf(victim, one) > 0), { deadlineMs: PATIENCE_MS });

export const allParked = ({ databaseUrl }: Victim, waiting: readonly WaitingRun[]) =>
  until(
    async () => {
      const parked = await runStatement<{ id: string }>(
        databaseUrl,
        'select id from runs where parked_at is not null',
      );
      const ids = new Set(parked.map(({ id }) => id));
      return waiting.every(({ run }) => ids.has(run));
    },
    { deadlineMs: PATIENCE_MS, what: 'all parked' },
  );

/** Of one killed before it was claimed, and decided: paid by whoever goes on, and never again. */
export const paidOnce = (one: WaitingRun): Check => ({
  async soon(victim) {
    await ended(victim, one, ['succeeded']);
    return counted('paid', paymentsOf(victim, one), 1);
  },
  atLast: async (victim) => counted('paid', paymentsOf(victim, one), 1),
});

/** The same of one that is still to be decided. */
export const paidOnceApproved = (one: WaitingRun): Check => ({
  ...paidOnce(one),
  async soon(victim) {
    await approve(victim, one.confirmation);
    return paidOnce(one).soon(victim);
  },
});

/** Of one killed between the claim and the answer: unknown in the end, and never sent again. */
export const unknownAfter = (payments: number, one: WaitingRun): Check => ({
  async soon(victim) {
    const status = await executionOf(victim, one);
    if (status !== 'claimed' && status !== 'unknown') return lost(`${status} instead of claimed`);
    return counted('paid', paymentsOf(victim, one), payments);
  },
  async atLast(victim) {
    await ended(victim, one, ['unknown']);
    return counted('paid', paymentsOf(victim, one), payments);
  },
});

/** Of one killed at any moment after its claim: known where its answer was noted, unknown else, and never sent again. */
export const toldOrUnknown = (one: WaitingRun): Check => ({
  soon: async () => null,
  async atLast(victim): Promise<Fault | null> {
    const status = await ended(victim, one, ['succeeded', 'unknown']);
    const times = paymentsOf(victim, one);
    return times === 0 && status === 'unknown' ? null : counted(`${status}, and paid`, times, 1);
  },
});

const paymentsOf = ({ tools }: Victim, { mark }: WaitingRun): number =>
  tools.calls.filter(({ body }) => body.mark === mark).length;

const executionOf = async (victim: Victim, { confirmation }: WaitingRun): Promise<string> =>
  (await read(victim.service.url, confirmation)).execution.status;

const ended = (victim: Victim, one: WaitingRun, statuses: readonly string[]): Promise<string> =>
  until(
    () =>
      seldom(async () => {
        const status = await executionOf(victim, one);
        return statuses.includes(status) ? status : null;
      }),
    { deadlineMs: PATIENCE_MS, what: statuses.join(' or ') },
  );
