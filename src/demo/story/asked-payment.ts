import type { DemoWorld } from '../demo-world.ts';
import { waitUntil } from '../wait-until.ts';

/** A payment that waits for a person: its run, its request, and its card in each chat. */
export interface AskedPayment {
  readonly run: string;
  readonly confirmation: string;
  /** The message in Feishu, whose card changes as the request does. */
  readonly feishuMessage: string;
  /** The message in Slack. */
  readonly slackTs: string;
}

/** Asks the agent and waits until its payment is stopped and a card stands in both chats. */
export async function askForPayment(world: DemoWorld, instruction: string): Promise<AskedPayment> {
  const { id } = await world.service.startRun(instruction);
  const confirmation = await waitUntil('the run waits for a person', async () => {
    const run = await world.service.waitForRun(id, 'waiting');
    return run.invocations.find(({ status }) => status === 'waiting')?.confirmation;
  });
  const slack = await waitUntil('the card stands in Slack', () =>
    world.slack.messages().find(({ blocks }) => JSON.stringify(blocks).includes(confirmation)),
  );
  const feishu = await waitUntil('the card stands in Feishu', () =>
    world.feishu.messages().find(({ card }) => JSON.stringify(card).includes(confirmation)),
  );
  return { run: id, confirmation, feishuMessage: feishu.messageId, slackTs: slack.ts };
}

export interface CardsNow {
  readonly feishu: string;
  readonly slack: string;
}

export interface CardNotes {
  readonly feishu: readonly string[];
  readonly slack: readonly string[];
}

/** What both cards show now, as the JSON that was sent. */
export function cardsNow(world: DemoWorld, { feishuMessage, slackTs }: AskedPayment): CardsNow {
  const feishu = world.feishu.messages().find(({ messageId }) => messageId === feishuMessage);
  const slack = world.slack.messages().find(({ ts }) => ts === slackTs);
  return { feishu: JSON.stringify(feishu?.card ?? null), slack: JSON.stringify(slack?.blocks ?? null) };
}

/** What stands under both cards: replies in Feishu, the thread in Slack. */
export const notesUnder = (world: DemoWorld, { feishuMessage, slackTs }: AskedPayment): CardNotes => ({
  feishu: world.feishu
    .messages()
    .filter(({ replyTo }) => replyTo === feishuMessage)
    .map(({ card }) => JSON.stringify(card)),
  slack: world.slack
    .messages()
    .filter(({ threadTs }) => threadTs === slackTs)
    .map(({ text }) => text),
});

/** Whether both cards show all of these words, and no longer a button that decides. */
export function bothCardsEndWith(world: DemoWorld, asked: AskedPayment, words: readonly string[]): boolean {
  const { feishu, slack } = cardsNow(world, asked);
  const shown = words.every((word) => feishu.includes(word) && slack.includes(word));
  const open = world.feishu.buttons(asked.feishuMessage).some(({ url }) => url === null);
  return shown && !open && !slack.includes('countersign.approve') && !slack.includes('countersign.reject');
}
