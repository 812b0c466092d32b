import { ask, type ConfirmationJson, call, PAYMENT, read } from '../../e2e/api.ts';
import { runStatement } from '../../support/run-statement.ts';
import { until } from '../../support/until.ts';
import { type KillPoint, PATIENCE_MS, type Victim } from '../victim.ts';
import {
  askAndShow,
  cardsOf,
  closed,
  closedOnce,
  decideAndClose,
  openCardsOf,
  seldom,
  tap,
} from './cards.ts';
import { type Check, type Kill, lost } from './kill.ts';
import {
  allParked,
  allPaying,
  approveAll,
  paidOnce,
  paidOnceApproved,
  runsToApprove,
  toldOrUnknown,
  unknownAfter,
  type WaitingRun,
} from './waiting-runs.ts';

/** Where each of them holds a connection of the service, which has ten; and where none does. */
const SEVERAL = 5;
/** As many transactions of decisions as a process has on their way at once. */
const DECISIONS = 2;
const MANY = 10;

/** In the order of a request's life; the parked runs at the end. */
export const KILL_POINTS: readonly Kill[] = [
  {
    name: 'row inserted, card not sent',
    together: SEVERAL,
    besideAnother: true,
    async kill(victim, count) {
      const asks = several(count, () => asking(`inserted-${Math.random()}`));
      const point = {
        says: ['insert into "confirmations"'],
        heldAt: 'commit answered',
        times: count,
      } as const;
      await victim.killAt(point, () => Promise.all(asks.map((again) => again(victim.service.url))));
      return asks.map((again) => ({
        async soon(next) {
          const { status, body } = await again(next.service.url);
          if (status !== 200) return lost(`asking again answered ${status}`);
          return decideAndClose(next, body.confirmation.id, 1);
        },
      }));
    },
  },
  {
    name: 'card sent, id not saved',
    // A channel sends a few at once; all of these hang in the middle.
    together: 3,
    besideAnother: false,
    async kill(victim, count) {
      const ids: string[] = [];
      for (let place = 0; place < count; place += 1)
        victim.platforms.slack.faults.next('chat.postMessage', 'timeout-after-accept');
      const sent = until(() => ids.length === count && ids.every((id) => cardsOf(victim, id).length > 0), {
        deadlineMs: PATIENCE_MS,
      });
      await victim.killAt(sent, () =>
        Promise.all(several(count, async () => ids.push((await ask(victim.service.url)).id))),
      );
      return ids.map((id) => ({ soon: (next) => decideAndClose(next, id, 2) }));
    },
  },
  {
    name: 'verified, before the transaction',
    together: DECISIONS,
    besideAnother: true,
    kill: (victim, count) =>
      killWhileDeciding(victim, count, (id) => ({ says: ['"confirmations"', 'for update', id] }), 'pending'),
  },
  {
    name: 'inside the transaction',
    together: DECISIONS,
    besideAnother: true,
    kill: (victim, count) => killWhileDeciding(victim, count, (id) => voteOn(id, 'commit'), 'pending'),
  },
  {
    name: 'committed, not answered',
    together: DECISIONS,
    besideAnother: true,
    kill: (victim, count) =>
      killWhileDeciding(victim, count, (id) => voteOn(id, 'commit answered'), 'approved'),
  },
  {
    name: 'answered, card not updated',
    together: MANY,
    besideAnother: false,
    async kill(victim, count) {
      const ids = await Promise.all(several(count, () => askAndShow(victim)));
      const { slack, feishu } = victim.platforms;
      slack.faults.follow((method) => (method === 'chat.update' ? 'reset' : null));
      feishu.faults.follow((operation) =>
        operation === 'patch' ? { kind: 'silence', carriedOut: false } : null,
      );
      let answered = () => {};
      const told = new Promise<void>((resolve) => {
        answered = resolve;
      });
      await victim.killAt(told, async () => {
        await Promise.all(ids.map((id) => tap(victim, id)));
        answered();
      });
      slack.faults.follow(() => null);
      feishu.faults.follow(() => null);
      const updated = ids.filter((id) => openCardsOf(victim, id) !== 2);
      if (updated.length > 0) throw new Error(`Killed too late for ${updated.join()}`);
      return ids.map((id) => ({
        async soon(next) {
          const { status } = await read(next.service.url, id);
          return status === 'approved' ? closed(next, id, 1) : lost(`answered and now ${status}`);
        },
      }));
    },
  },
  {
    name: 'notified, waiter not resumed',
    together: MANY,
    besideAnother: true,
    kill: (victim, count, turn) =>
      killWhileResuming(
        victim,
        { count, turn },
        {
          point: ({ confirmation }) => ({
            says: ['pg_notify', `confirmation ${confirmation}`],
            letPass: true,
          }),
          check: paidOnce,
          // Notified first, some may be on their way to the tool when the last one is.
          mayBeClaimed: true,
        },
      ),
  },
  {
    name: 'resumed, not claimed',
    together: SEVERAL,
    besideAnother: true,
    leasesLapse: true,
    kill: (victim, count, turn) =>
      killWhileResuming(victim, { count, turn }, { point: beforeClaims(count), check: paidOnce }),
  },
  {
    name: 'claimed, nothing sent',
    together: SEVERAL,
    besideAnother: true,
    kill: (victim, count, turn) =>
      killWhileResuming(
        victim,
        { count, turn },
        {
          point: { says: ['from "gate_controls"'], heldAt: 'commit answered', times: count },
          check: (one) => unknownAfter(0, one),
        },
      ),
  },
  {
    name: 'claimed, tool not returned',
    together: MANY,
    besideAnother: true,
    leasesLapse: true,
    async kill(victim, count, turn) {
      const waiting = await runsToApprove(victim, 'oa__hang', { count, turn });
      await victim.killAt(allPaying(victim, waiting), () => approveAll(victim, waiting));
      return waiting.map((one) => unknownAfter(1, one));
    },
  },
  {
    name: 'in the expiry sweep',
    // One sweep takes one after another: it dies in the first of these.
    together: MANY,
    besideAnother: false,
    async kill(victim, count) {
      const asked = await Promise.all(several(count, () => ask(victim.service.url, 'bank__short')));
      await victim.killAt({ says: ['update confirmations', 'expired'], heldAt: 'commit' }, async () => {});
      return asked.map(({ id }) => ({
        async soon(next) {
          const expired = async () => (await read(next.service.url, id)).status === 'expired';
          await until(() => seldom(expired), { deadlineMs: PATIENCE_MS, what: 'expired' });
          return closedOnce(next, id);
        },
      }));
    },
  },
  {
    name: 'in shutdown',
    together: MANY,
    besideAnother: true,
    async kill(victim, count, turn) {
      const waiting = await runsToApprove(victim, 'oa__hang', { count, turn });
      const pending = await Promise.all(several(count, () => ask(victim.service.url)));
      const stopping = allPaying(victim, waiting).then(() => {
        void victim.service.stop();
        return until(() => victim.service.log().includes('"msg":"stopping"'), { deadlineMs: PATIENCE_MS });
      });
      await victim.killAt(stopping, () => approveAll(victim, waiting));
      return [
        ...waiting.map((one) => unknownAfter(1, one)),
        // Its card may have been on the way: what it stood under lapses by itself where another process lives.
        ...pending.map(
          ({ id }): Check => ({ soon: async () => null, atLast: (last) => decideAndClose(last, id, 2) }),
        ),
      ];
    },
  },
  {
    name: 'about to be parked',
    together: SEVERAL,
    parkAfter: '1s',
    besideAnother: true,
    async kill(victim, count, turn) {
      const parking = {
        says: ['update "runs"', '"parked_at" = clock'],
        heldAt: 'commit',
        times: count,
      } as const;
      const held = victim.reached(parking);
      const waiting = await runsToApprove(victim, 'oa__pay', { count, turn });
      await victim.killAt(held, async () => {});
      return waiting.map(paidOnceApproved);
    },
  },
  {
    name: 'parked, and decided by the next process',
    together: MANY,
    parkAfter: '1s',
    besideAnother: true,
    async kill(victim, count, turn) {
      const waiting = await runsToApprove(victim, 'oa__pay', { count, turn });
      await victim.killAt(allParked(victim, waiting), async () => {});
      return waiting.map(paidOnceApproved);
    },
  },
  {
    name: 'parked and decided, not taken up',
    together: DECISIONS,
    parkAfter: '1s',
    besideAnother: true,
    kill: (victim, count, turn) =>
      killWhileResuming(
        victim,
        { count, turn },
        {
          parked: true,
          point: ({ confirmation }) => voteOn(confirmation, 'commit answered'),
          check: paidOnce,
        },
      ),
  },
  {
    name: 'woken, not resumed',
    together: MANY,
    parkAfter: '1s',
    besideAnother: false,
    async kill(victim, count, turn) {
      const waiting = await runsToApprove(victim, 'oa__pay', { count, turn });
      await allParked(victim, waiting);
      // All at once, so that one look takes them all.
      const ids = waiting.map(({ run }) => `'${run}'`).join(', ');
      const wake = `update runs set parked_at = null, woken_at = now() where id in (${ids})`;
      const taking = {
        says: ['update "runs"', '"woken_at" is not null'],
        heldAt: 'answered',
        hears: waiting[0]?.run ?? '',
      } as const;
      await victim.killAt(taking, () =>
        runStatement(victim.databaseUrl, wake).then(() => ask(victim.service.url)),
      );
      return waiting.map(paidOnceApproved);
    },
  },
  {
    name: 'resumed after it was parked, not claimed',
    together: SEVERAL,
    parkAfter: '1s',
    besideAnother: false,
    kill: (victim, count, turn) =>
      killWhileResuming(
        victim,
        { count, turn },
        { parked: true, point: beforeClaims(count), check: paidOnce },
      ),
  },
];

const several = <T>(count: number, make: (place: number) => T): T[] =>
  Array.from({ length: count }, (_, place) => make(place));

const asking = (key: string) => (url: string) =>
  call<{ confirmation: ConfirmationJson }>(url, 'POST', '/v1/confirmations', {
    headers: { 'idempotency-key': key },
    body: { tool: 'bank__transfer', args: PAYMENT, agent: 'procurement', requester: 'zhao.min' },
  });

const voteOn = (confirmation: string, heldAt: 'commit' | 'commit answered'): KillPoint => ({
  says: ['insert into votes', confirmation],
  heldAt,
});

/** Held back right before each of these claims. */
const beforeClaims = (count: number): KillPoint => ({ says: ['from "gate_controls"'], times: count });

/** Killed during taps: what the next process finds, and the same tap then has the effect of one. */
async function killWhileDeciding(
  victim: Victim,
  count: number,
  point: (id: string) => KillPoint,
  expected: string,
): Promise<readonly Check[]> {
  const ids = await Promise.all(several(count, () => askAndShow(victim)));
  await victim.killAt(ids.map(point), () => Promise.all(ids.map((id) => tap(victim, id))));
  return ids.map((id) => ({
    async soon(next) {
      const { status } = await read(next.service.url, id);
      if (status !== expected) return lost(`${status} instead of ${expected}`);
      await tap(next, id);
      return (await read(next.service.url, id)).status === 'approved'
        ? closed(next, id, 1)
        : lost('cannot be decided');
    },
  }));
}

/** Killed on the way from approvals to the tool. */
async function killWhileResuming(
  victim: Victim,
  { count, turn }: { readonly count: number; readonly turn: number },
  how: {
    readonly parked?: boolean;
    readonly point: KillPoint | ((run: WaitingRun) => KillPoint);
    readonly check: (run: WaitingRun) => Check;
    readonly mayBeClaimed?: boolean;
  },
): Promise<readonly Check[]> {
  const { parked = false, point, check, mayBeClaimed = false } = how;
  const waiting = await runsToApprove(victim, 'oa__pay', { count, turn });
  if (parked) await allParked(victim, waiting);
  await victim.killAt(typeof point === 'function' ? waiting.map(point) : point, () =>
    approveAll(victim, waiting),
  );
  const claimed = new Set(mayBeClaimed ? await claimedNow(victim) : []);
  return waiting.map((one) => (claimed.has(one.confirmation) ? toldOrUnknown(one) : check(one)));
}

async function claimedNow({ databaseUrl }: Victim): Promise<readonly string[]> {
  const claimed = await runStatement<{ id: string }>(
    databaseUrl,
    `select id from confirmations where execution_status in ('claimed', 'succeeded')`,
  );
  return claimed.map(({ id }) => id);
}
