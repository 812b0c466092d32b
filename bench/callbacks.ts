import { sql } from 'drizzle-orm';
import { startGate } from '../test/chaos/gate.ts';
import { inParallel } from '../test/chaos/post.ts';
import { type BenchRow, quantile } from './bench-row.ts';

const A_SECOND = 200;
const CALLBACKS = 6 * A_SECOND;
/** Sent before, slower: what is measured is what a service sustains, not its first seconds. */
const WARM_UP = 400;
const WARM_UP_A_SECOND = 80;
const ASKED_AT_ONCE = 16;

/**
 * Taps as the platforms send them, at a steady 200 a second, half in Slack and half in Feishu, each deciding a request
 * of its own whose cards stand in both chats: from the first byte sent to the answer, with the service in a process of
 * its own on PostgreSQL. The cards are changed meanwhile at the pace that the platforms allow. Beside it a page that
 * reads nothing, asked for at the same pace.
 */
export async function benchCallbacks(databaseUrl: string): Promise<BenchRow[]> {
  const gate = await startGate(databaseUrl);
  try {
    const shown = await inParallel(Array.from({ length: WARM_UP + CALLBACKS }), ASKED_AT_ONCE, () =>
      gate.shown(),
    );
    const taps = shown.map((card, index) => {
      const chat = index % 2 === 0 ? ('pay-slack' as const) : ('pay-feishu' as const);
      return {
        chat,
        request: gate.tap(chat, card, { user: chat === 'pay-slack' ? 'U0LIWEI' : 'ou_liwei' }),
      };
    });
    await gate.restart(null);
    const tap = async ({ chat, request }: (typeof taps)[number]) => {
      const answer = await gate.send(chat, { ...request, shared: true });
      if (answer.status !== 200) throw new Error(`a tap was answered ${answer.status}`);
      return answer.elapsedMs;
    };
    await paced(taps.splice(0, WARM_UP), WARM_UP_A_SECOND, tap);
    const alone = await paced(taps, A_SECOND, async () => {
      const startedAt = performance.now();
      await fetch(`${gate.url}/healthz`).then((answer) => answer.text());
      return performance.now() - startedAt;
    });
    const times = await paced(taps, A_SECOND, tap);
    const [row] = await gate.rows<{ decided: number }>(
      sql`select count(*)::int as decided from confirmations where status = 'approved'`,
    );
    const sent = WARM_UP + CALLBACKS;
    if (row?.decided !== sent) throw new Error(`${row?.decided} of ${sent} taps decided something`);
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

/** Begins so many calls a second, whatever became of those before: a late answer delays nobody else. */
function paced<Item>(
  items: readonly Item[],
  aSecond: number,
  call: (item: Item) => Promise<number>,
): Promise<number[]> {
  const startedAt = performance.now();
  return Promise.all(
    items.map(async (item, index) => {
      const dueInMs = startedAt + (index * 1_000) / aSecond - performance.now();
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, dueInMs)));
      return call(item);
    }),
  );
}
