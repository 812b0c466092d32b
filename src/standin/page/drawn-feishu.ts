import { z } from 'zod';
import type { FeishuStandin } from '../feishu/start-feishu-standin.ts';
import type { PageApp } from './page-app.ts';

/** What a page needs to draw the group, and what the bot wrote to these people alone. */
export function drawnFeishu(feishu: FeishuStandin, openIds: readonly string[]) {
  const shown = (messages: ReturnType<FeishuStandin['messages']>) =>
    messages.map(({ messageId, createdAt, contents, card }) => ({
      messageId,
      createdAt,
      changes: contents.length - 1,
      card,
    }));
  return {
    messages: shown(feishu.messages()),
    direct: Object.fromEntries(openIds.map((openId) => [openId, shown(feishu.directMessagesOf(openId))])),
  };
}

/** What these people can do there: press buttons, with what they typed into the card's form. */
export function addFeishuActions(page: PageApp, feishu: FeishuStandin, openIds: readonly string[]): void {
  const tap = z.strictObject({
    user: z.enum(openIds),
    message: z.string(),
    button: z.int().min(0),
    form: z.record(z.string(), z.string().max(2000)),
    /** Of the client in which the card is drawn. */
    language: z.enum(['zh_cn', 'en_us']),
  });
  page.action('/feishu/tap', tap, ({ user, message, button, form, language }) =>
    feishu.tap({ openId: user, messageId: message, element: button, formValue: form, language }),
  );
}
