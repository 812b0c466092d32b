import type { TapResult } from '../../standin/feishu/deliver-callback.ts';
import type { DemoPerson } from '../cast.ts';
import type { DemoWorld } from '../demo-world.ts';
import { waitUntil } from '../wait-until.ts';
import type { AskedPayment } from './asked-payment.ts';

type Verdict = 'approve' | 'reject';

/** A tap in Feishu; resolves with what the person's client shows. */
export function tapInFeishu(
  world: DemoWorld,
  asked: AskedPayment,
  person: DemoPerson,
  verdict: Verdict,
): Promise<TapResult> {
  return world.feishu.tap({
    openId: person.feishuOpenId,
    messageId: asked.feishuMessage,
    element: ({ name, value }) => value?.action === verdict || (name?.startsWith(verdict) ?? false),
  });
}

export const toastText = (result: TapResult): string => (result.kind === 'toast' ? result.text : result.kind);

/** A tap in Slack; resolves with the ephemeral message that the person is shown for it. */
export async function tapInSlack(
  world: DemoWorld,
  asked: AskedPayment,
  person: DemoPerson,
  verdict: Verdict,
): Promise<string> {
  const shownBefore = world.slack.ephemeralsOf(person.slackUser).length;
  await world.slack.tap({
    user: person.slackUser,
    ts: asked.slackTs,
    actionId: `countersign.${verdict}`,
  });
  return waitUntil(
    `Slack tells ${person.name} what became of the tap`,
    () => world.slack.ephemeralsOf(person.slackUser)[shownBefore]?.text,
  );
}
