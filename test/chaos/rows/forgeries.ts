import { type Forgery, forgeriesOf } from '../forgeries.ts';
import { startGate } from '../gate.ts';
import { inParallel } from '../post.ts';
import type { ChaosRow } from '../row.ts';

/** Under an address's share of failed proofs, so that each forgery meets the verifier's own answer. */
const PER_ADDRESS = 50;

export const forgeries: ChaosRow = {
  id: 'F7',
  title: 'forgeries of proof and body, over HTTP',
  volume: { usual: 600, full: 6_000 },
  async run({ databaseUrl, rounds }) {
    const gate = await startGate(databaseUrl);
    try {
      const shown = await gate.shown();
      const slack = gate.tap('pay-slack', shown, { user: 'U0LIWEI' });
      const feishu = gate.tap('pay-feishu', shown, { user: 'ou_liwei' });
      const before = await gate.state();
      const forged: Forgery[] = [];
      for (const forgery of forgeriesOf(slack, feishu)) {
        if (forged.length === rounds) break;
        forged.push(forgery);
      }
      const answers = await inParallel(forged, 16, ({ chat, request }, index) => {
        const address = Math.floor(index / PER_ADDRESS) + 1;
        return gate.send(chat, { ...request, from: `127.0.${address >> 8}.${address & 255 || 255}` });
      });
      const wrong = answers.flatMap(({ status, body }, index) =>
        status === 401 && body === '' ? [] : [`${forged[index]?.what}: ${status} ${body.slice(0, 80)}`],
      );
      let letIn = wrong.length;
      if ((await gate.state()) !== before) letIn += 1;
      // The same taps, as they were: what was refused was refused for what had been done to it.
      let lost = 0;
      if ((await gate.send('pay-slack', slack)).status !== 200) lost += 1;
      if ((await gate.read(shown.id)).status !== 'approved') lost += 1;
      const again = await gate.send('pay-feishu', feishu);
      if (again.status !== 200 || !again.body.includes('toast')) lost += 1;
      const leaked = [
        'slack-signing-secret',
        'feishu-encrypt-key',
        'feishu-verification-token',
        shown.cards['pay-slack'].token,
      ].filter((secret) => gate.log().includes(secret));
      return {
        tried: rounds,
        lost,
        doubled: 0,
        letIn: letIn + leaked.length,
        note:
          wrong.length + leaked.length > 0
            ? [...wrong.slice(0, 5), ...leaked].join('; ')
            : 'all 401 and empty, state unchanged, no secret in the log',
      };
    } finally {
      await gate.stop();
    }
  },
};
