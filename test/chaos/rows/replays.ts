import { type ChatId, type Gate, type Shown, startGate } from '../gate.ts';
import { inParallel, type WireAnswer } from '../post.ts';
import type { ChaosRow } from '../row.ts';

const CHATS: readonly ChatId[] = ['pay-slack', 'pay-feishu'];
const LI_WEI = { 'pay-slack': 'U0LIWEI', 'pay-feishu': 'ou_liwei' } as const;
const WANG_FANG = { 'pay-slack': 'U0WANG', 'pay-feishu': 'ou_wang' } as const;
/** What ages past the window while the row runs. */
const ALMOST_STALE_MS = 297_000;

export const replays: ChaosRow = {
  id: 'F6',
  title: 'callback replays: the same bytes again and again, reordered, after a restart, stale',
  volume: { usual: 120, full: 10_000 },
  async run({ databaseUrl, rounds }) {
    const gate = await startGate(databaseUrl);
    try {
      const each = Math.ceil(rounds / CHATS.length / 3);
      let doubled = 0;
      let lost = 0;
      let letIn = 0;
      let tried = 0;
      const again: { chat: ChatId; shown: Shown; bytes: ReturnType<Gate['tap']> }[] = [];
      const aging: typeof again = [];

      for (const chat of CHATS) {
        // One person's approval, many times at once, where two people are needed.
        const double = await gate.shown('bank__double');
        const approval = gate.tap(chat, double, { user: LI_WEI[chat] });
        const answers = await inParallel(Array.from({ length: each }), 20, () => gate.send(chat, approval));
        tried += answers.length;
        lost += answers.filter(({ status }) => status !== 200).length;
        const events = await gate.events(double.id);
        if ((await gate.read(double.id)).votes?.length !== 1 || events['vote.cast'] !== 1) doubled += 1;
        if ((await gate.read(double.id)).status !== 'pending') letIn += 1;
        again.push({ chat, shown: double, bytes: approval });

        // Approval and rejection by two people, repeated and out of order: the first one closes, once.
        const rest = each * 2;
        for (let round = 0; round * 40 < rest; round += 1) {
          const shown = await gate.shown();
          const pair = [
            gate.tap(chat, shown, { user: LI_WEI[chat] }),
            gate.tap(chat, shown, { user: WANG_FANG[chat], verdict: 'reject' }),
          ] as const;
          const order = Array.from({ length: 40 }, (_, index) => pair[(index * 7 + round) % 3 === 0 ? 0 : 1]);
          const mixed = await inParallel(order, 10, (bytes) => gate.send(chat, bytes));
          tried += mixed.length;
          lost += mixed.filter(({ status }) => status !== 200).length;
          const seen = await gate.events(shown.id);
          const closings = Object.entries(seen).filter(([what]) => what.startsWith('confirmation.decided'));
          if (closings.length !== 1 || closings[0]?.[1] !== 1 || seen['vote.cast'] !== 1) doubled += 1;
          again.push({ chat, shown, bytes: pair[0] }, { chat, shown, bytes: pair[1] });
        }

        const old = await gate.shown();
        const almost = gate.tap(chat, old, { user: LI_WEI[chat], ageMs: ALMOST_STALE_MS });
        if ((await gate.send(chat, almost)).status !== 200) lost += 1;
        aging.push({ chat, shown: old, bytes: almost });
        tried += 1;
      }

      await gate.restart();
      const before = await gate.state();
      const afterRestart = await inParallel(again, 10, ({ chat, bytes }) => gate.send(chat, bytes));
      tried += afterRestart.length;
      lost += afterRestart.filter(({ status }) => status !== 200).length;

      // Signed rightly, but long ago, or in the future; and the bytes that were fresh when they were first sent.
      const stale: Promise<WireAnswer>[] = [];
      for (const { chat, shown } of again.slice(0, 20)) {
        for (const ageMs of [301_000, 3_600_000, 31_536_000_000, -305_000])
          stale.push(gate.send(chat, gate.tap(chat, shown, { user: WANG_FANG[chat], ageMs })));
      }
      await new Promise((resolve) => setTimeout(resolve, 5_000));
      for (const { chat, bytes } of aging) stale.push(gate.send(chat, bytes));
      const refused = await Promise.all(stale);
      tried += refused.length;
      letIn += refused.filter(({ status, body }) => ![401, 429].includes(status) || body !== '').length;
      if ((await gate.state()) !== before) doubled += 1;
      return { tried, lost, doubled, letIn, note: `${refused.length} stale ones refused, no further effect` };
    } finally {
      await gate.stop();
    }
  },
};
