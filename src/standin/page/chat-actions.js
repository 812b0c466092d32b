import { feishuNotice } from './feishu.js';
import { post } from './post.js';
import { slackNotice } from './slack.js';

/**
 * What people can do in the drawn chats. `user()` is the account that acts, `texts()` are the words, `toast` shows
 * what comes of it where the platform's client would.
 */
export function feishuActions({ user, texts, toast }) {
  return {
    async tap(message, button, form) {
      const language = texts().feishuLanguage;
      const answer = await post('/feishu/tap', { user: user(), message, button, form, language });
      toast(answer ? feishuNotice(answer.result, texts()) : failed(texts()));
    },
  };
}

/** As `feishuActions`. What is wrong with a form stands in the form. */
export function slackActions({ user, texts, toast }) {
  const act = async (path, body) => {
    const answer = await post(path, { user: user(), ...body });
    if (answer === null) toast(failed(texts()));
    return answer?.result;
  };
  return {
    tap: async (ts, action) => toast(slackNotice(await act('/slack/tap', { ts, action }), texts())),
    submit: (reason) => act('/slack/submit', { reason }),
    close: () => act('/slack/close', {}),
  };
}

const failed = ({ tapFailed }) => ({ type: 'error', text: tapFailed });
