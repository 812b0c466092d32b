import { ask, type ConfirmationJson, call, PAYMENT, read } from '../../e2e/api.ts';
import { KEYS } from '../../e2e/platforms.ts';
import { runStatement } from '../../support/run-statement.ts';
import { until } from '../../support/until.ts';
import type { ChaosRow } from '../row.ts';
import { sideBySide } from '../side-by-side.ts';
import { type KillPoint, Victim } from '../victim.ts';
import { killInMigrations } from './killed-migrations.ts';

/** Asked of the last process, once all the killing is over; says what is wrong, or nothing. */
type Verify = (victim: Victim) => Promise<string | null>;

interface Kill {
  readonly name: string;
  /** How many requests or runs stand at the point when the service is killed there. */
  readonly together: number;
  /** Set where the process is to park its runs. */
  readonly parkAfter?: string;
  /** Kills the service once and leaves it to be started again; one verification for each that stood there. */
  kill(victim: Victim, count: number): Promise<readonly Verify[]>;
}

/** Where each of them holds a connection of the service, which has ten; and where none does. */
const SEVERAL = 5;
/** As many transactions of decisions as a process has on their way at once. */
const DECISIONS = 2;
const MANY = 10;

const KILLS: readonly Kill[] = [
  {
    name: 'row inserted, card not sent',
    together: SEVERAL,
    async kill(victim, count) {
      const asking = (key: string) => (url: string) =>
        call<{ confirmation: ConfirmationJson }>(url, 'POST', '/v1/confirmations', {
          headers: { 'idempotency-key': key },
          body: { tool: 'bank__transfer', args: PAYMENT, agent: 'procurement', requester: 'zhao.min' },
        });
      const asks = several(count, () => asking(`inserted-${Math.random()}`));
      const point = {
        says: ['insert into "confirmations"'],
        heldAt: 'commit answered',
        times: count,
      } as const;
      await victim.killAt(point, () => Promise.all(asks.map((again) => again(victim.service.url))));
      return asks.map((again) => async (last) => {
        const { status, body } = await again(last.service.url);
        if (status !== 200) return `asking again answered ${status}`;
        return decideAndClose(last, body.confirmation.id, { cards: 1 });
      });
    },
  },
  {
    name: 'card sent, id not saved',
    // A channel sends a few at once; all of these hang in the middle.
    together: 3,
    async kill(victim, count) {
      const ids: string[] = [];
      for (let place = 0; place < count; place += 1)
        victim.platforms.slack.faults.next('chat.postMessage', 'timeout-after-accept');
      const sent = until(() => ids.length === count && ids.every((id) => cardsOf(victim, id).length > 0), {
        deadlineMs: 20_000,
      });
      await victim.killAt(sent, () =>
        Promise.all(several(count, async () => ids.push((await ask(victim.service.url)).id))),
      );
      return ids.map((id) => (last) => decideAndClose(last, id, { cards: 2 }));
    },
  },
  {
    name: 'verified, before the transaction',
    together: DECISIONS,
    kill: (victim, count) =>
      killWhileDeciding(victim, count, (id) => ({ says: ['"confirmations"', 'for update', id] }), 'pending'),
  },
  {
    name: 'inside the transaction',
    together: DECISIONS,
    kill: (victim, count) => killWhileDeciding(victim, count, (id) => voteOn(id, 'commit'), 'pending'),
  },
  {
    name: 'committed, not answered',
    together: DECISIONS,
    kill: (victim, count) =>
      killWhileDeciding(victim, count, (id) => voteOn(id, 'commit answered'), 'approved'),
  },
  {
    name: 'answered, card not updated',
    together: MANY,
    async kill(victim, count) {
      const ids = await Promise.all(several(count, () => askAndShow(victim)));
      let answered = () => {};
      const told = new Promise<void>((resolve) => {
        answered = resolve;
      });
      await victim.killAt(told, async () => {
        await Promise.all(ids.map((id) => tap(victim, id)));
        answered();
      });
      return ids.map((id) => async (last) => {
        const { status } = await read(last.service.url, id);
        return status === 'approved' ? closed(last, id, 1) : `answered and now ${status}`;
      });
    },
  },
  {
    name: 'notified, waiter not resumed',
    together: MANY,
    kill: (victim, count) =>
      killWhileResuming(victim, count, {
        point: ({ confirmation }) => ({ says: ['pg_notify', `confirmation ${confirmation}`], letPass: true }),
        verify: paidOnce,
        // Notified first, some may be on their way to the tool when the last one is.
        mayBeClaimed: true,
      }),
  },
  {
    name: 'resumed, not claimed',
    together: SEVERAL,
    kill: (victim, count) =>
      killWhileResuming(victim, count, { point: beforeClaims(count), verify: paidOnce }),
  },
  {
    name: 'claimed, nothing sent',
    together: SEVERAL,
    kill: (victim, count) =>
      killWhileResuming(victim, count, {
        point: { says: ['from "gate_controls"'], heldAt: 'commit answered', times: count },
        verify: unknownAfter(0),
      }),
  },
  {
    name: 'claimed, tool not returned',
    together: MANY,
    async kill(victim, count) {
      const waiting = await runsToApprove(victim, 'oa__hang', count);
      await victim.killAt(allPaying(victim, waiting), () => approveAll(victim, waiting));
      return waiting.map((one) => (last) => unknownAfter(1)(last, one));
    },
  },
  {
    name: 'in the expiry sweep',
    // One sweep takes one after another: it dies in the first of these.
    together: MANY,
    async kill(victim, count) {
      const asked = await Promise.all(several(count, () => ask(victim.service.url, 'bank__short')));
      await victim.killAt({ says: ['update confirmations', 'expired'], heldAt: 'commit' }, async () => {});
      return asked.map(({ id }) => async (last) => {
        const expired = async () => (await read(last.service.url, id)).status === 'expired';
        await until(() => seldom(expired), { deadlineMs: 40_000, what: 'expired' });
        return (await closingEventsOf(last, id)) === 1 ? null : 'not exactly one closing event';
      });
    },
  },
  {
    name: 'in shutdown',
    together: MANY,
    async kill(victim, count) {
      const waiting = await runsToApprove(victim, 'oa__hang', count);
      const pending = await Promise.all(several(count, () => ask(victim.service.url)));
      const stopping = allPaying(victim, waiting).then(() => {
        void victim.service.stop();
        return until(() => victim.service.log().includes('"msg":"stopping"'));
      });
      await victim.killAt(stopping, () => approveAll(victim, waiting));
      return waiting.map((one, place) => async (last) => {
        const unknown = await unknownAfter(1)(last, one);
        return unknown ?? decideAndClose(last, pending[place]?.id ?? '', { cards: 2 });
      });
    },
  },
  {
    name: 'about to be parked',
    together: SEVERAL,
    parkAfter: '1s',
    async kill(victim, count) {
      const parking = {
        says: ['update "runs"', '"parked_at" = clock'],
        heldAt: 'commit',
        times: count,
      } as const;
      const held = victim.reached(parking);
      const waiting = await runsToApprove(victim, 'oa__pay', count);
      await victim.killAt(held, async () => {});
      return waiting.map((one) => (last) => approve(last, one.confirmation).then(() => paidOnce(last, one)));
    },
  },
  {
    name: 'parked, and decided by the next process',
    together: MANY,
    parkAfter: '1s',
    async kill(victim, count) {
      const waiting = await runsToApprove(victim, 'oa__pay', count);
      await victim.killAt(allParked(victim, waiting), async () => {});
      return waiting.map((one) => (last) => approve(last, one.confirmation).then(() => paidOnce(last, one)));
    },
  },
  {
    name: 'parked and decided, not taken up',
    together: DECISIONS,
    parkAfter: '1s',
    kill: (victim, count) =>
      killWhileResuming(victim, count, {
        parked: true,
        point: ({ confirmation }) => voteOn(confirmation, 'commit answered'),
        verify: paidOnce,
      }),
  },
  {
    name: 'woken, not resumed',
    together: MANY,
    parkAfter: '1s',
    async kill(victim, count) {
      const waiting = await runsToApprove(victim, 'oa__pay', count);
      await allParked(victim, waiting);
      // All at once, so that one look takes them all.
      const ids = waiting.map(({ run }) => `'${run}'`).join(', ');
      const wake = `update runs set parked_at = null, woken_at = now() where id in (${ids})`;
      const taking = { says: ['update "runs"', '"woken_at" is not null'], heldAt: 'answered' } as const;
      await victim.killAt(taking, () =>
        runStatement(victim.databaseUrl, wake).then(() => ask(victim.service.url)),
      );
      return waiting.map((one) => (last) => approve(last, one.confirmation).then(() => paidOnce(last, one)));
    },
  },
  {
    name: 'resumed after it was parked, not claimed',
    together: SEVERAL,
    parkAfter: '1s',
    kill: (victim, count) =>
      killWhileResuming(victim, count, { parked: true, point: beforeClaims(count), verify: paidOnce }),
  },
];

export const killedService: ChaosRow = {
  id: 'F12',
  title: `the service killed at ${KILLS.length} points and in migrations, what stood there taken up by the next process (cases 046, 166)`,
  volume: { usual: 10, full: 50 },
  async run({ databaseUrl, rounds }) {
    const migrations = await killInMigrations(databaseUrl, rounds);
    const victim = await Victim.start(databaseUrl);
    const verifies: { readonly name: string; readonly verify: Verify }[] = [];
    const wrong = [...migrations.wrong];
    let begun = true;
    try {
      for (const { name, together, parkAfter, kill } of KILLS) {
        for (let done = 0; done < rounds; done += together) {
          // The first kill meets the process that the victim was started with.
          if (!begun) await victim.begin({ ...(parkAfter && { parkAfter }) });
          begun = false;
          const left = await kill(victim, Math.min(together, rounds - done));
          verifies.push(...left.map((verify) => ({ name, verify })));
        }
      }
      await victim.begin();
      await sideBySide(
        verifies.length,
        async (index) => {
          const { name, verify } = verifies[index] ?? never();
          const fault = await verify(victim).catch((error: unknown) => String(error));
          if (fault !== null) wrong.push(`${name}: ${fault}`);
        },
        12,
      );
      const verified = await until(
        async () =>
          (await call<{ ok: boolean }>(victim.service.url, 'GET', '/v1/audit/verify', { key: KEYS.auditor }))
            .body.ok,
        { what: 'the record whole' },
      ).catch(() => false);
      if (!verified) wrong.push('the record is not whole');
    } finally {
      await victim.stop();
    }
    return {
      tried: verifies.length + migrations.tried,
      lost: wrong.length,
      doubled: 0,
      letIn: 0,
      note: wrong.length === 0 ? 'each as it should be' : wrong.join('; '),
    };
  },
};

/** The chats live in this process, and looking through all their cards again and again would hold them up. */
async function seldom<T>(look: () => Promise<T>): Promise<T> {
  await new Promise((resolve) => setTimeout(resolve, 200));
  return look();
}

const several = <T>(count: number, make: (place: number) => T): T[] =>
  Array.from({ length: count }, (_, place) => make(place));

const never = (): never => {
  throw new Error('There is no such verification');
};

const cardsOf = ({ platforms }: Victim, id: string) =>
  platforms.slack.messages().filter(({ blocks }) => JSON.stringify(blocks).includes(id));

async function askAndShow(victim: Victim): Promise<string> {
  const { id } = await ask(victim.service.url);
  await shown(victim, id);
  return id;
}

const shown = (victim: Victim, id: string) =>
  until(
    () =>
      seldom(async () =>
        (await read(victim.service.url, id)).deliveries.every(({ state }) => state === 'sent'),
      ),
    {
      deadlineMs: 40_000,
      what: 'both cards sent',
    },
  );

const tap = (victim: Victim, id: string) =>
  victim.platforms.slack.tap({
    user: 'U0LIWEI',
    ts: cardsOf(victim, id)[0]?.ts ?? '',
    actionId: 'countersign.approve',
  });

async function approve(victim: Victim, id: string) {
  const { argsDigest } = await read(victim.service.url, id);
  const body = { verdict: 'approve', argsDigest };
  return call(victim.service.url, 'POST', `/v1/confirmations/${id}/votes`, { key: KEYS.liWei, body });
}

const voteOn = (confirmation: string, heldAt: 'commit' | 'commit answered'): KillPoint => ({
  says: ['insert into votes', confirmation],
  heldAt,
});

/** Killed during taps: what the next process finds, and the same tap then has the effect of one. */
async function killWhileDeciding(
  victim: Victim,
  count: number,
  point: (id: string) => KillPoint,
  expected: string,
): Promise<readonly Verify[]> {
  const ids = await Promise.all(several(count, () => askAndShow(victim)));
  await victim.killAt(ids.map(point), () => Promise.all(ids.map((id) => tap(victim, id))));
  return ids.map((id) => async (last) => {
    const { status } = await read(last.service.url, id);
    if (status !== expected) return `${status} instead of ${expected}`;
    await tap(last, id);
    return (await read(last.service.url, id)).status === 'approved'
      ? closed(last, id, 1)
      : 'cannot be decided';
  });
}

async function decideAndClose(
  victim: Victim,
  id: string,
  { cards }: { cards: number },
): Promise<string | null> {
  await shown(victim, id);
  await approve(victim, id);
  return closed(victim, id, cards);
}

/** Every card of it, a duplicate included, ends without buttons; the decision is on the record once. */
async function closed(victim: Victim, id: string, mostCards: number): Promise<string | null> {
  const open = () =>
    cardsOf(victim, id).some(({ blocks }) => JSON.stringify(blocks).includes('countersign.approve')) ||
    victim.platforms.feishu
      .messages()
      .filter(({ card }) => JSON.stringify(card).includes(id))
      .some(({ card }) => JSON.stringify(card).includes('"callback"'));
  await until(() => seldom(async () => !open()), { deadlineMs: 60_000, what: `every card of ${id} closed` });
  const count = cardsOf(victim, id).length;
  if (count < 1 || count > mostCards) return `${count} cards`;
  return (await closingEventsOf(victim, id)) === 1 ? null : 'not exactly one closing event';
}

async function closingEventsOf({ databaseUrl }: Victim, id: string): Promise<number> {
  const [row] = await runStatement<{ count: number }>(
    databaseUrl,
    `select count(*)::int as count from audit_events
     where confirmation_id = '${id}' and kind = 'confirmation.decided'`,
  );
  return row?.count ?? 0;
}

const paymentsOf = ({ tools }: Victim, run: string) =>
  tools.calls.filter(({ body }) => body.mark === markOf.get(run));
/** What tells the payments of one run from those of the others. */
const markOf = new Map<string, string>();

interface WaitingRun {
  readonly run: string;
  readonly confirmation: string;
}

async function runToApprove(
  victim: Victim,
  by: 'plan' | 'model',
  tool: 'oa__pay' | 'oa__hang',
): Promise<WaitingRun> {
  const mark = `mark-${Math.random()}`;
  const run = await victim.startRun(by, tool, { ...PAYMENT, mark });
  markOf.set(run, mark);
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
    { what: 'the run waits' },
  );
  return { run, confirmation };
}

/** Through both executors, one after the other. */
const runsToApprove = (victim: Victim, tool: 'oa__pay' | 'oa__hang', count: number) =>
  Promise.all(several(count, (place) => runToApprove(victim, place % 2 === 0 ? 'plan' : 'model', tool)));

const approveAll = (victim: Victim, waiting: readonly WaitingRun[]) =>
  Promise.all(waiting.map(({ confirmation }) => approve(victim, confirmation)));

const allPaying = (victim: Victim, waiting: readonly WaitingRun[]) =>
  until(() => waiting.every(({ run }) => paymentsOf(victim, run).length > 0), { deadlineMs: 20_000 });

const allParked = ({ databaseUrl }: Victim, waiting: readonly WaitingRun[]) =>
  until(
    async () => {
      const parked = await runStatement<{ id: string }>(
        databaseUrl,
        'select id from runs where parked_at is not null',
      );
      const ids = new Set(parked.map(({ id }) => id));
      return waiting.every(({ run }) => ids.has(run));
    },
    { deadlineMs: 20_000, what: 'all parked' },
  );

/** Held back right before each of these claims. */
const beforeClaims = (count: number): KillPoint => ({ says: ['from "gate_controls"'], times: count });

/** Killed on the way from approvals to the tool. */
async function killWhileResuming(
  victim: Victim,
  count: number,
  how: {
    readonly parked?: boolean;
    readonly point: KillPoint | ((run: WaitingRun) => KillPoint);
    readonly verify: (last: Victim, run: WaitingRun) => Promise<string | null>;
    readonly mayBeClaimed?: boolean;
  },
): Promise<readonly Verify[]> {
  const { parked = false, point, verify, mayBeClaimed = false } = how;
  const waiting = await runsToApprove(victim, 'oa__pay', count);
  if (parked) await allParked(victim, waiting);
  await victim.killAt(typeof point === 'function' ? waiting.map(point) : point, () =>
    approveAll(victim, waiting),
  );
  const claimed = new Set(mayBeClaimed ? await claimedNow(victim) : []);
  return waiting.map((one) => (last) => {
    return claimed.has(one.confirmation) ? toldOrUnknown(last, one) : verify(last, one);
  });
}

/** Of one killed at any moment after its claim: known where its answer was noted, unknown else, and never sent again. */
async function toldOrUnknown(victim: Victim, { run, confirmation }: WaitingRun): Promise<string | null> {
  const statusNow = async () => (await read(victim.service.url, confirmation)).execution.status;
  const status = await until(
    () =>
      seldom(async () => {
        const now = await statusNow();
        return now === 'succeeded' || now === 'unknown' ? now : null;
      }),
    { deadlineMs: 60_000, what: 'succeeded or unknown' },
  );
  const { length } = paymentsOf(victim, run);
  return length === 1 || (length === 0 && status === 'unknown')
    ? null
    : `${status}, and paid ${length} times`;
}

async function claimedNow({ databaseUrl }: Victim): Promise<readonly string[]> {
  const claimed = await runStatement<{ id: string }>(
    databaseUrl,
    `select id from confirmations where execution_status = 'claimed'`,
  );
  return claimed.map(({ id }) => id);
}

async function paidOnce(victim: Victim, { run, confirmation }: WaitingRun): Promise<string | null> {
  await until(
    () => seldom(async () => (await read(victim.service.url, confirmation)).execution.status === 'succeeded'),
    {
      deadlineMs: 60_000,
      what: 'paid',
    },
  );
  const { length } = paymentsOf(victim, run);
  return length === 1 ? null : `paid ${length} times`;
}

const unknownAfter =
  (payments: number) =>
  async (victim: Victim, { run, confirmation }: WaitingRun): Promise<string | null> => {
    await until(
      () => seldom(async () => (await read(victim.service.url, confirmation)).execution.status === 'unknown'),
      {
        deadlineMs: 60_000,
        what: 'unknown',
      },
    );
    const { length } = paymentsOf(victim, run);
    return length === payments ? null : `paid ${length} times instead of ${payments}`;
  };
