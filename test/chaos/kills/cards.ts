import { ask, call, read } from '../../e2e/api.ts';
import { KEYS } from '../../e2e/platforms.ts';
import { runStatement } from '../../support/run-statement.ts';
import { until } from '../../support/until.ts';
import { PATIENCE_MS, type Victim } from '../victim.ts';
import { counted, type Fault, lost } from './kill.ts';

/** The chats live in this process, and looking through all their cards again and again would hold them up. */
export async function seldom<T>(look: () => Promise<T>): Promise<T> {
  const found = await look();
  if (!found) await new Promise((resolve) => setTimeout(resolve, 150));
  return found;
}

export const cardsOf = ({ platforms }: Victim, id: string) =>
  platforms.slack.messages().filter(({ blocks }) => JSON.stringify(blocks).includes(id));

/** Asks for a payment and waits for its cards; gives the request's id. */
export async function askAndShow(victim: Victim): Promise<string> {
  const { id } = await ask(victim.service.url);
  await shown(victim, id);
  return id;
}

export const tap = (victim: Victim, id: string) =>
  victim.platforms.slack.tap({
    user: 'U0LIWEI',
    ts: cardsOf(victim, id)[0]?.ts ?? '',
    actionId: 'countersign.approve',
  });

/** As a person does, again where it is answered that it cannot be recorded now; throws where nobody answers. */
export async function approve({ service: { url } }: Victim, id: string): Promise<void> {
  const { argsDigest } = await read(url, id);
  const body = { verdict: 'approve', argsDigest };
  const vote = () => call(url, 'POST', `/v1/confirmations/${id}/votes`, { key: KEYS.liWei, body });
  await until(() => seldom(async () => (await vote()).status < 500), {
    deadlineMs: PATIENCE_MS,
    what: 'the vote answered',
  });
}

/** How many cards of this request still take taps, in both chats. */
export function openCardsOf(victim: Victim, id: string): number {
  const inSlack = cardsOf(victim, id).filter(({ blocks }) =>
    JSON.stringify(blocks).includes('countersign.approve'),
  );
  const inFeishu = victim.platforms.feishu
    .messages()
    .map(({ card }) => JSON.stringify(card))
    .filter((card) => card.includes(id) && card.includes('"callback"'));
  return inSlack.length + inFeishu.length;
}

/** It can still be decided, once, and every card of it is closed then. */
export async function decideAndClose(victim: Victim, id: string, mostCards: number): Promise<Fault | null> {
  await shown(victim, id);
  await approve(victim, id);
  return closed(victim, id, mostCards);
}

/** Every card of it, a duplicate included, ends without buttons; the decision is on the record once. */
export async function closed(victim: Victim, id: string, mostCards: number): Promise<Fault | null> {
  await until(() => seldom(async () => openCardsOf(victim, id) === 0), {
    deadlineMs: PATIENCE_MS,
    what: `every card of ${id} closed`,
  });
  const { length } = cardsOf(victim, id);
  if (length < 1) return lost('no card');
  if (length > mostCards) return counted('shown', length, mostCards);
  return closedOnce(victim, id);
}

export async function closedOnce({ databaseUrl }: Victim, id: string): Promise<Fault | null> {
  const [row] = await runStatement<{ count: number }>(
    databaseUrl,
    `select count(*)::int as count from audit_events
     where confirmation_id = '${id}' and kind = 'confirmation.decided'`,
  );
  return counted('closed on the record', row?.count ?? 0, 1);
}

const shown = (victim: Victim, id: string) =>
  until(
    () =>
      seldom(async () =>
        (await read(victim.service.url, id)).deliveries.every(({ state }) => state === 'sent'),
      ),
    { deadlineMs: PATIENCE_MS, what: 'both cards sent' },
  );
