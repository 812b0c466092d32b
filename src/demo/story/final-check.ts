import type { DemoWorld } from '../demo-world.ts';
import type { Ledger } from '../payment-system.ts';
import { waitUntil } from '../wait-until.ts';
import type { StoryTeller } from './story-teller.ts';

/** Ledger, chats and record, looked at as a whole once everything has happened. */
export async function playFinalCheck(world: DemoWorld, teller: StoryTeller): Promise<void> {
  const { payments, totals } = await readLedger(world);
  const amounts = payments.map(({ amount }) => amount).join(' + ');
  teller.check(
    `the ledger holds the two payments that were to be made, and no other: ${amounts} = ${totals.CNY}`,
    amounts === '800.00 + 68000.00' && totals.CNY === '68800.00',
    () => payments,
  );
  const open = world.feishu
    .messages()
    .filter(({ messageId }) => world.feishu.buttons(messageId).some(({ url }) => url === null));
  teller.check(
    'three cards stand in each chat, and none still asks anybody',
    world.feishu.messages().filter(({ replyTo }) => replyTo === null).length === 3 &&
      world.slack.messages().filter(({ threadTs }) => threadTs === null).length === 3 &&
      open.length === 0,
  );
  await theRecord(world, teller);
}

/** As an auditor would: from the payment system itself. */
async function readLedger({ payments, secrets }: DemoWorld): Promise<Ledger> {
  const headers = { authorization: `Bearer ${secrets.OA_TOKEN}` };
  const response = await fetch(`${payments.url}/ledger`, { headers });
  return (await response.json()) as Ledger;
}

const EXPECTED: Readonly<Record<string, number>> = {
  'confirmation.requested': 3,
  'vote.cast': 2,
  'confirmation.decided': 3,
  'grant.claimed': 1,
  'outcome.recorded': 1,
  'tool.executed': 6,
  'call.denied': 2,
  'run.finished': 4,
};

async function theRecord(world: DemoWorld, teller: StoryTeller): Promise<void> {
  const events = await waitUntil('the record holds the end of all four runs', async () => {
    const all = await world.service.auditEvents();
    return all.filter(({ kind }) => kind === 'run.finished').length === 4 && all;
  });
  const count = (kind: string) => events.filter((event) => event.kind === kind).length;
  const found = () => Object.fromEntries(Object.keys(EXPECTED).map((kind) => [kind, count(kind)]));
  const summary = Object.entries(EXPECTED)
    .map(([kind, times]) => `${times} × ${kind}`)
    .join(', ');
  teller.check(
    `the record holds ${summary}`,
    Object.entries(EXPECTED).every(([kind, times]) => count(kind) === times),
    found,
  );
  const refused = events.filter(({ kind }) => kind === 'vote.refused');
  const refusedTo = refused.map(({ actor, data }) => `${actor.name} (${String(data.code)})`);
  teller.check(
    `whoever was refused is on the record: ${refusedTo.join(', ')}`,
    ['陈杰', '赵敏'].every((name) => refused.some(({ actor }) => actor.name === name)),
  );
  const verified = await world.service.verifyAudit();
  teller.check(
    `the chain of the record is whole: ${verified.ok ? `${verified.events} events verified` : 'broken'}`,
    verified.ok,
    () => verified,
  );
}
