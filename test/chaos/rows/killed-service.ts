import { ask, type ConfirmationJson, call, PAYMENT, read } from '../../e2e/api.ts';
import { KEYS } from '../../e2e/platforms.ts';
import { runStatement } from '../../support/run-statement.ts';
import { until } from '../../support/until.ts';
import type { ChaosRow } from '../row.ts';
import { Victim } from '../victim.ts';

/** Asked of the last process, once all the killing is over; says what is wrong, or nothing. */
type Verify = (victim: Victim) => Promise<string | null>;

/** Each kills the service once and leaves it to be started again. */
const KILLS: readonly { readonly name: string; kill(victim: Victim): Promise<Verify> }[] = [
  {
    name: 'row inserted, card not sent',
    async kill(victim) {
      const key = `inserted-${Math.random()}`;
      const body = { tool: 'bank__transfer', args: PAYMENT, agent: 'procurement', requester: 'zhao.min' };
      const asking = (url: string) =>
        call<{ confirmation: ConfirmationJson }>(url, 'POST', '/v1/confirmations', {
          headers: { 'idempotency-key': key },
          body,
        });
      await victim.killAt({ says: ['insert into "confirmations"'], heldAt: 'commit answered' }, () =>
        asking(victim.service.url),
      );
      return async (last) => {
        const again = await asking(last.service.url);
        if (again.status !== 200) return `asking again answered ${again.status}`;
        return decideAndClose(last, again.body.confirmation.id, { cards: 1 });
      };
    },
  },
  {
    name: 'card sent, id not saved',
    async kill(victim) {
      victim.platforms.slack.faults.next('chat.postMessage', 'timeout-after-accept');
      let id = '';
      const sent = until(() => id !== '' && cardsOf(victim, id).length > 0, { deadlineMs: 20_000 });
      await victim.killAt(sent, async () => {
        id = (await ask(victim.service.url)).id;
      });
      return (last) => decideAndClose(last, id, { cards: 2 });
    },
  },
  {
    name: 'verified, before the transaction',
    kill: (victim) => killWhileDeciding(victim, { says: ['"confirmations"', 'for update'] }, 'pending'),
  },
  {
    name: 'inside the transaction',
    kill: (victim) =>
      killWhileDeciding(victim, { says: ['insert into "votes"'], heldAt: 'commit' }, 'pending'),
  },
  {
    name: 'committed, not answered',
    kill: (victim) =>
      killWhileDeciding(victim, { says: ['insert into "votes"'], heldAt: 'commit answered' }, 'approved'),
  },
  {
    name: 'answered, card not updated',
    async kill(victim) {
      const id = await askAndShow(victim);
      let answered = () => {};
      const told = new Promise<void>((resolve) => {
        answered = resolve;
      });
      await victim.killAt(told, async () => {
        await tap(victim, id);
        answered();
      });
      return async (last) => {
        const { status } = await read(last.service.url, id);
        return status === 'approved' ? closed(last, id, 1) : `answered and now ${status}`;
      };
    },
  },
  {
    name: 'notified, waiter not resumed',
    async kill(victim) {
      const { run, confirmation } = await runToApprove(victim, 'oa__pay');
      await victim.killAt({ says: ['pg_notify', `confirmation ${confirmation}`], letPass: true }, () =>
        approve(victim, confirmation),
      );
      return (last) => paidOnce(last, run, confirmation);
    },
  },
  {
    name: 'resumed, not claimed',
    async kill(victim) {
      const { run, confirmation } = await runToApprove(victim, 'oa__pay');
      await victim.killAt({ says: ['from "gate_controls"'] }, () => approve(victim, confirmation));
      return (last) => paidOnce(last, run, confirmation);
    },
  },
  {
    name: 'claimed, nothing sent',
    async kill(victim) {
      const { run, confirmation } = await runToApprove(victim, 'oa__pay');
      await victim.killAt({ says: ['from "gate_controls"'], heldAt: 'commit answered' }, () =>
        approve(victim, confirmation),
      );
      return (last) => unknownAfter(last, { run, confirmation }, 0);
    },
  },
  {
    name: 'claimed, tool not returned',
    async kill(victim) {
      const { run, confirmation } = await runToApprove(victim, 'oa__hang');
      const arrived = until(() => paymentsOf(victim, run).length > 0, { deadlineMs: 20_000 });
      await victim.killAt(arrived, () => approve(victim, confirmation));
      return (last) => unknownAfter(last, { run, confirmation }, 1);
    },
  },
  {
    name: 'in the expiry sweep',
    async kill(victim) {
      const { id } = await ask(victim.service.url, 'bank__short');
      await victim.killAt({ says: ['update "confirmations"', 'expired'], heldAt: 'commit' }, async () => {});
      return async (last) => {
        await until(async () => (await read(last.service.url, id)).status === 'expired', { what: 'expired' });
        return (await closingEventsOf(last, id)) === 1 ? null : 'not exactly one closing event';
      };
    },
  },
  {
    name: 'in shutdown',
    async kill(victim) {
      const { run, confirmation } = await runToApprove(victim, 'oa__hang');
      const waiting = await ask(victim.service.url);
      const arrived = until(() => paymentsOf(victim, run).length > 0, { deadlineMs: 20_000 });
      const stopping = arrived.then(() => {
        void victim.service.stop();
        return until(() => victim.service.log().includes('"msg":"stopping"'));
      });
      await victim.killAt(stopping, () => approve(victim, confirmation));
      return async (last) => {
        const unknown = await unknownAfter(last, { run, confirmation }, 1);
        if (unknown !== null) return unknown;
        return decideAndClose(last, waiting.id, { cards: 2 });
      };
    },
  },
];

export const killedService: ChaosRow = {
  id: 'F12',
  title: `the service killed at ${KILLS.length} points, each taken up by the next process`,
  volume: { usual: 1, full: 50 },
  async run({ databaseUrl, rounds }) {
    const victim = await Victim.start(databaseUrl);
    const wrong: string[] = [];
    try {
      for (let round = 0; round < rounds; round += 1) {
        const verifies: { readonly name: string; readonly verify: Verify }[] = [];
        for (const { name, kill } of KILLS) {
          verifies.push({ name, verify: await kill(victim) });
          await victim.begin();
        }
        await Promise.all(
          verifies.map(async ({ name, verify }) => {
            const fault = await verify(victim).catch((error: unknown) => String(error));
            if (fault !== null) wrong.push(`${name}: ${fault}`);
          }),
        );
      }
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
      tried: rounds * KILLS.length,
      lost: wrong.length,
      doubled: 0,
      letIn: 0,
      note: wrong.length === 0 ? 'each as it should be' : wrong.join('; '),
    };
  },
};

const cardsOf = ({ platforms }: Victim, id: string) =>
  platforms.slack.messages().filter(({ blocks }) => JSON.stringify(blocks).includes(id));

async function askAndShow(victim: Victim): Promise<string> {
  const { id } = await ask(victim.service.url);
  await shown(victim, id);
  return id;
}

const shown = (victim: Victim, id: string) =>
  until(async () => (await read(victim.service.url, id)).deliveries.every(({ state }) => state === 'sent'), {
    deadlineMs: 20_000,
    what: 'both cards sent',
  });

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

/** Killed during a tap: what the next process finds, and the same tap then has the effect of one. */
async function killWhileDeciding(
  victim: Victim,
  point: Parameters<Victim['killAt']>[0],
  expected: string,
): Promise<Verify> {
  const id = await askAndShow(victim);
  await victim.killAt(point, () => tap(victim, id));
  return async (last) => {
    const { status } = await read(last.service.url, id);
    if (status !== expected) return `${status} instead of ${expected}`;
    await tap(last, id);
    return (await read(last.service.url, id)).status === 'approved'
      ? closed(last, id, 1)
      : 'cannot be decided';
  };
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
  await until(
    () =>
      cardsOf(victim, id).every(({ blocks }) => !JSON.stringify(blocks).includes('countersign.approve')) &&
      victim.platforms.feishu
        .messages()
        .filter(({ card }) => JSON.stringify(card).includes(id))
        .every(({ card }) => !JSON.stringify(card).includes('"callback"')),
    { deadlineMs: 30_000, what: `every card of ${id} closed` },
  );
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

async function runToApprove(victim: Victim, tool: 'oa__pay' | 'oa__hang') {
  const mark = `mark-${markOf.size}`;
  const run = await victim.startRun(tool, { ...PAYMENT, mark });
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

async function paidOnce(victim: Victim, run: string, confirmation: string): Promise<string | null> {
  await until(async () => (await read(victim.service.url, confirmation)).execution.status === 'succeeded', {
    deadlineMs: 40_000,
    what: 'paid',
  });
  const { length } = paymentsOf(victim, run);
  return length === 1 ? null : `paid ${length} times`;
}

async function unknownAfter(
  victim: Victim,
  { run, confirmation }: { readonly run: string; readonly confirmation: string },
  payments: number,
): Promise<string | null> {
  await until(async () => (await read(victim.service.url, confirmation)).execution.status === 'unknown', {
    deadlineMs: 40_000,
    what: 'unknown',
  });
  const { length } = paymentsOf(victim, run);
  return length === payments ? null : `paid ${length} times instead of ${payments}`;
}
