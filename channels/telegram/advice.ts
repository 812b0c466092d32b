import { notReached } from '../../src/channel/diagnosis.ts';
import type { LocalizedText } from '../../src/locale.ts';

/** What an operator does about an error of the Bot API, by what its description says; null where that says nothing. */
export function telegramAdvice(error: string): LocalizedText | null {
  return ADVICE.find(([pattern]) => pattern.test(error))?.[1] ?? null;
}

const ADVICE: readonly (readonly [RegExp, LocalizedText])[] = [
  [
    /: 40[14] /,
    {
      'zh-CN': '向 @BotFather 发送 /token，选择此机器人，把令牌重新填入 botToken。',
      'en-US': 'Send /token to @BotFather, choose this bot, and put its token into botToken again.',
    },
  ],
  [
    /bot can't initiate conversation|bot was blocked by the user|user is deactivated/,
    {
      'zh-CN': '请此人打开与机器人的对话并点“开始”（/start）；在此之前机器人不能给他发私信。',
      'en-US':
        'Have this person open the chat with the bot and press Start; before that it may not write to them.',
    },
  ],
  [
    /upgraded to a supergroup/,
    {
      'zh-CN': '该群已升级为超级群，id 已改变：在 chat 中填新的 id（-100…）。',
      'en-US': 'The group became a supergroup and has a new id: put that one (-100…) into `chat`.',
    },
  ],
  [
    /chat not found|bot was kicked|not a member|not enough rights|have no rights/,
    {
      'zh-CN': '把机器人加入该群并允许它发言；chat 要填群的数字 id（超级群以 -100 开头）。',
      'en-US':
        'Add the bot to the chat and let it write; `chat` takes the number of the chat (-100… for supergroups).',
    },
  ],
  [
    /: 409 /,
    {
      'zh-CN': '同一机器人只能由一个进程轮询，且不能设有 webhook：停止另一个进程，或调用 deleteWebhook。',
      'en-US':
        'One process a bot may poll, and only without a webhook: stop the other one, or call deleteWebhook.',
    },
  ],
  // As `client.ts` and the delivery worker word it.
  [/: (?:no answer|cannot connect|unreadable answer)|^timed_out$/, notReached('apiUrl')],
];
