import { sql } from 'drizzle-orm';
import { startGate } from '../test/chaos/gate.ts';
import { inParallel } from '../test/chaos/post.ts';
import { type BenchRow, quantile } from './bench-row.ts';

const A_SECOND = 200;
const CALLBACKS = 8 * A_SECOND;
const ASKED_AT_ONCE = 8;

/**
 * Taps as the platforms send them, at a steady 200 a second, half in Slack and half in Feishu, each deciding a request
 * of its own: from the first byte sent to the answer, with the service in a process of its own on PostgreSQL. Beside it
 * a page that reads nothing, asked for at the same pace.
 */
export async function benchCallbacks(databaseUrl: string): Promise<BenchRow[]> {
  const gate = await startGate(databaseUrl);
  try {
    // No card gets out, so no tap is about one that another message shows by now; the sends go on failing meanwhile.
    await gate.platforms.stop();
    const ids = await inParallel(Array.from({ length: CALLBACKS }), ASKED_AT_ONCE, () => gate.ask());
    const tokens = await gate.rows<{ id: string; channel: string; token: string }>(
      sql`select confirmation_id as id, channel_id as channel, token from deliveries`,
    );
    const tokenOf = new Map(tokens.map(({ id, channel, token }) => [`${id} ${channel}`, token]));
    const taps = ids.map((id, index) => {
      const chat = index % 2 === 0 ? ('pay-slack' as const) : ('pay-feishu' as const);
      // The first verified tap of a card says which message it is.
      const card = { token: tokenOf.get(`${id} ${chat}`) ?? '', messageId: messageId(chat, index) };
      const shown = { id, cards: { 'pay-slack': card, 'pay-feishu': card } };
      return {
        chat,
        request: gate.tap(chat, shown, { user: chat === 'pay-slack' ? 'U0LIWEI' : 'ou_liwei' }),
      };
    });
    const alone = await paced(CALLBACKS / 2, async () => {
      const startedAt = performance.now();
      await fetch(`${gate.url}/healthz`).then((answer) => answer.text());
      return performance.now() - startedAt;
    });
    const times = await paced(CALLBACKS, async (index) => {
      const tap = taps[index];
      if (tap === undefined) throw new Error('there is no such tap');
      const answer = await gate.send(tap.chat, { ...tap.request, shared: true });
      if (answer.status !== 200) throw new Error(`a tap was answered ${answer.status}`);
      return answer.elapsedMs;
    });
    const [row] = await gate.rows<{ decided: number }>(
      sql`select count(*)::int as decided from confirmations where status = 'approved'`,
    );
    if (row?.decided !== CALLBACKS) throw new Error(`${row?.decided} of ${CALLBACKS} taps decided something`);
    return rowsOf(times, alone);
  } finally {
    await gate.stop();
  }
}

function rowsOf(times: readonly number[], alone: readonly number[]): BenchRow[] {
  const referenceName = `GET /healthz at ${A_SECOND}/s`;
  const row = (name: string, value: number, reference: number, goal: string): BenchRow => ({
    name,
    value,
    unit: 'ms',
    reference,
    referenceName,
    ratio: value / reference,
    goal,
  });
  return [
    row(
      `callback → answered at ${A_SECOND}/s, p99`,
      quantile([...times], 0.99),
      quantile([...alone], 0.99),
      '≤ 200 ms',
    ),
    row(
      `callback → answered at ${A_SECOND}/s, slowest`,
      Math.max(...times),
      Math.max(...alone),
      '≤ 2,500 ms',
    ),
  ];
}

/** Begins one call each 1/200 s, whatever became of those before: a late answer delays nobody else. */
function paced(count: number, call: (index: number) => Promise<number>): Promise<number[]> {
  const startedAt = performance.now();
  return Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const dueInMs = startedAt + (index * 1_000) / A_SECOND - performance.now();
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, dueInMs)));
      return call(index);
    }),
  );
}

const messageId = (chat: 'pay-slack' | 'pay-feishu', index: number): string =>
  chat === 'pay-slack' ? `1900000000.${String(index).padStart(6, '0')}` : `om_bench${index}`;
