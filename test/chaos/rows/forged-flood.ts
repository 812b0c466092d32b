import { sql } from 'drizzle-orm';
import { until } from '../../support/until.ts';
import { type Forgery, forgeriesOf } from '../forgeries.ts';
import { startGate } from '../gate.ts';
import { percentile } from '../percentile.ts';
import { inParallel } from '../post.ts';
import type { ChaosRow } from '../row.ts';

const FORGED_PER_SECOND = 300;
const HONEST_PER_SECOND = 10;
const SLOWEST_HONEST_MS = 1_000;
/** Where the machine is busy with other things, an honest tap is slow by itself. */
const SLOWER_BY = 5;

export const forgedFlood: ChaosRow = {
  id: 'F20',
  title: `${FORGED_PER_SECOND} forged callbacks a second beside ${HONEST_PER_SECOND} honest ones, from the same address`,
  volume: { usual: 3, full: 60 },
  async run({ databaseUrl, rounds: seconds }) {
    const gate = await startGate(databaseUrl);
    try {
      const honest = await inParallel(Array.from({ length: (seconds + 3) * HONEST_PER_SECOND }), 8, () =>
        gate.ask(),
      );
      const cards = await until(
        async () => {
          const sent = await gate.rows<SentCard>(sentToSlack);
          return sent.length === honest.length ? new Map(sent.map((card) => [card.id, card])) : null;
        },
        { what: 'every card', deadlineMs: 60_000 },
      );
      const bytesOf = (id: string) => {
        const card = { token: cards.get(id)?.token ?? '', messageId: cards.get(id)?.message ?? '' };
        const one = { id, cards: { 'pay-slack': card, 'pay-feishu': card } };
        return gate.tap('pay-slack', one, { user: 'U0LIWEI' });
      };
      const shown = await gate.shown();
      const forged = forgeriesOf(
        gate.tap('pay-slack', shown, { user: 'U0LIWEI' }),
        gate.tap('pay-feishu', shown, { user: 'ou_liwei' }),
      );
      // Both take their places in time; an answer that is late delays nobody else.
      const honestTaps = (ids: readonly string[]) => {
        const at = pace(HONEST_PER_SECOND);
        return Promise.all(
          ids.map(async (id, index) => {
            await at(index);
            return { id, answer: await gate.send('pay-slack', bytesOf(id)) };
          }),
        );
      };
      const p99Of = (taps: Awaited<ReturnType<typeof honestTaps>>) =>
        percentile(
          taps.map(({ answer }) => answer.elapsedMs),
          0.99,
        );
      const aloneMs = p99Of(await honestTaps(honest.slice(0, HONEST_PER_SECOND * 3)));
      const at = pace(FORGED_PER_SECOND);
      const forgedAnswers = Array.from({ length: seconds * FORGED_PER_SECOND }, async (_, index) => {
        await at(index);
        const { chat, request } = forged.next().value as Forgery;
        return gate.send(chat, { ...request, shared: true });
      });
      const honestAnswers = honestTaps(honest.slice(HONEST_PER_SECOND * 3));
      const refused = await Promise.all(forgedAnswers);
      const answered = await honestAnswers;
      let lost = 0;
      for (const { id, answer } of answered)
        if (answer.status !== 200 || (await gate.read(id)).status !== 'approved') lost += 1;
      const letIn = refused.filter(({ status, body }) => ![401, 429].includes(status) || body !== '').length;
      const p99 = p99Of(answered);
      if ((await gate.read(shown.id)).status !== 'pending') lost += 1;
      const limited = refused.filter(({ status }) => status === 429).length;
      return {
        tried: refused.length + answered.length,
        lost: lost + (p99 < Math.max(SLOWEST_HONEST_MS, SLOWER_BY * aloneMs) ? 0 : 1),
        doubled: 0,
        letIn,
        note: `${answered.length} honest ones all approved, p99 ${p99.toFixed(0)} ms (${aloneMs.toFixed(0)} ms without the flood); ${limited} of ${refused.length} forged ones limited`,
      };
    } finally {
      await gate.stop();
    }
  },
};

/** Everybody takes their place in time; an answer that is late delays nobody else. */
function pace(perSecond: number): (index: number) => Promise<void> {
  const startedAt = performance.now();
  return (index) =>
    new Promise((resolve) => {
      setTimeout(resolve, Math.max(0, startedAt + (index * 1_000) / perSecond - performance.now()));
    });
}

interface SentCard {
  readonly id: string;
  readonly token: string;
  readonly message: string;
}

const sentToSlack = sql`select confirmation_id as id, token, message_ids[1] as message from deliveries
  where channel_id = 'pay-slack' and state = 'sent'`;
