import type { TapAction } from '../../src/channel/inbound-event.ts';
import type { DemoPerson } from '../../src/demo/cast.ts';
import type { DemoWorld } from '../../src/demo/demo-world.ts';
import { waitUntil } from '../../src/demo/wait-until.ts';
import type { StandinMessage } from '../../src/standin/feishu/message-store.ts';
import type { SlackMessage } from '../../src/standin/slack/platform.ts';

/** The cards of one request in both chats, and the people who tap on them. */
export interface RequestCards {
  /** Waits until both cards hold every one of `words`, and gives them as they stand then. */
  holding(...words: readonly string[]): Promise<DrawnCards>;
  /** The same, for what comes only after a while. */
  holdingWithin(deadlineMs: number, ...words: readonly string[]): Promise<DrawnCards>;
  tapInFeishu(person: DemoPerson, action: TapAction, reason?: string): Promise<void>;
  tapInSlack(person: DemoPerson, action: TapAction): Promise<void>;
}

export interface DrawnCards {
  readonly feishu: StandinMessage;
  readonly slack: SlackMessage;
}

/** `request` is the id of a confirmation, which the link on every card of it holds. */
export function requestCards(world: DemoWorld, request: string): RequestCards {
  const has = (value: unknown, words: readonly string[]) => {
    const text = JSON.stringify(value);
    return words.every((word) => text.includes(word));
  };
  const find = (words: readonly string[]) => {
    const feishu = world.feishu.messages().find(({ card }) => has(card, [request, ...words]));
    const slack = world.slack.messages().find(({ blocks }) => has(blocks, [request, ...words]));
    return feishu && slack && { feishu, slack };
  };
  const holdingWithin: RequestCards['holdingWithin'] = (deadlineMs, ...words) =>
    waitUntil(`both cards of ${request} say ${words.join(', ')}`, () => find(words), deadlineMs);
  const holding: RequestCards['holding'] = (...words) => holdingWithin(10_000, ...words);
  return {
    holding,
    holdingWithin,
    async tapInFeishu({ feishuOpenId, name: person }, action, reason) {
      const { feishu } = await holding();
      const result = await world.feishu.tap({
        openId: feishuOpenId,
        messageId: feishu.messageId,
        element: ({ name, value }) => value?.action === action || (name?.startsWith(`${action}.`) ?? false),
        ...(reason === undefined ? {} : { formValue: { reason } }),
      });
      if (result.kind !== 'toast' || result.type !== 'success')
        throw new Error(`${person} could not ${action} in Feishu: ${JSON.stringify(result)}`);
    },
    async tapInSlack({ slackUser }, action) {
      const { slack } = await holding();
      await world.slack.tap({ user: slackUser, ts: slack.ts, actionId: `countersign.${action}` });
    },
  };
}
