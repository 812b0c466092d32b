import { z } from 'zod';
import type { SlackStandin } from '../slack/start-slack-standin.ts';
import type { PageApp } from './page-app.ts';

/** What a page needs to draw the channel, what the app wrote to these people alone, and their forms. */
export function drawnSlack(slack: SlackStandin, users: readonly string[]) {
  const ephemerals = users.flatMap((user) => slack.ephemeralsOf(user));
  const chat = (messages: ReturnType<SlackStandin['messages']>, isHere: (channel: string) => boolean) => ({
    messages: messages.map(({ ts, text, blocks, edited, threadTs, broadcast }) => ({
      ...{ ts, text, blocks, edited, threadTs, broadcast },
    })),
    ephemerals: ephemerals.filter(({ channel }) => isHere(channel)),
  });
  const directs = users.map((user) => [user, slack.directMessagesOf(user)] as const);
  return {
    ...chat(slack.messages(), (channel) => channel.startsWith('C')),
    direct: Object.fromEntries(
      directs.map(([user, messages]) => [
        user,
        chat(messages, (channel) => channel === messages[0]?.channel),
      ]),
    ),
    modals: users.flatMap((user) => slack.modalOf(user) ?? []),
  };
}

/** What these people can do there: press buttons, submit and close forms. */
export function addSlackActions(page: PageApp, slack: SlackStandin, users: readonly string[]): void {
  const byUser = { user: z.enum(users) };
  const tap = z.strictObject({ ...byUser, ts: z.string(), action: z.string() });
  const submit = z.strictObject({ ...byUser, reason: z.string().max(5000) });
  page.action('/slack/tap', tap, ({ user, ts, action }) => slack.tap({ user, ts, actionId: action }));
  page.action('/slack/submit', submit, ({ user, reason }) => slack.submitModal({ user, reason }));
  page.action('/slack/close', z.strictObject(byUser), ({ user }) => slack.closeModal(user));
}
