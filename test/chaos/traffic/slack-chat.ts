import type { JsonObject } from '../../../src/json.ts';
import { type SlackStandin, startSlackStandin } from '../../../src/standin/slack/start-slack-standin.ts';
import { until } from '../../support/until.ts';
import { type ChatId, CodeIndex, type TapAnswer, type TrafficChat } from './chat.ts';
import { PEOPLE, slackUser } from './people.ts';
import type { SendErrors } from './send-errors.ts';

/** A modal that is not there by then never comes: the person closes what they see and taps again. */
const MODAL_WITHIN_MS = 4_000;
const SENDING: ReadonlySet<string> = new Set(['chat.postMessage', 'chat.update']);

/** A channel in Slack, and the `channels[]` entry for it. */
export async function startSlackChat(input: {
  readonly id: ChatId;
  readonly mode: 'socket' | 'http';
  readonly messagesPerSecond: number;
  /** Of the process that runs now. */
  readonly serviceUrl: () => string;
  readonly errors: SendErrors;
}): Promise<{ readonly chat: TrafficChat; readonly settings: string }> {
  const { id, mode, messagesPerSecond, serviceUrl, errors } = input;
  const app = {
    botToken: `xoxb-${id}`,
    appId: `A0${mode.toUpperCase()}`,
    team: 'T0ACME',
    channel: `C0${mode.toUpperCase()}`,
  };
  const slack = await startSlackStandin({
    ...app,
    signingSecret: `secret-of-${id}`,
    ...(mode === 'socket' && { appToken: `xapp-${id}` }),
    users: Array.from({ length: PEOPLE }, (_, person) => ({
      id: slackUser(person),
      name: slackUser(person),
    })),
    callbackUrl: () => `${serviceUrl()}/channels/${id}/callback`,
  });
  slack.faults.follow((method, args) => {
    if (!SENDING.has(method)) return null;
    const posts = args.thread_ts === undefined ? 'card' : 'note';
    const makes = method === 'chat.postMessage' ? posts : 'change';
    switch (errors.next(id, { makes, text: JSON.stringify(args.blocks) })) {
      case '500':
        return '500';
      case '429':
        return { retryAfterSeconds: 1 };
      case 'timeout after accept':
        return 'timeout-after-accept';
      case null:
        return null;
    }
  });
  const proof = mode === 'socket' ? `appToken: xapp-${id}` : `signingSecret: secret-of-${id}`;
  return {
    chat: slackChat(id, slack),
    settings: `{ id: ${id}, kind: slack, mode: ${mode}, apiUrl: "${slack.url}", botToken: ${app.botToken}, ${proof}, team: ${app.team}, appId: ${app.appId}, channel: ${app.channel}, messagesPerSecond: ${messagesPerSecond} }`,
  };
}

function slackChat(id: ChatId, slack: SlackStandin): TrafficChat {
  const codes = new CodeIndex();
  let read = 0;
  slack.onChange(() => {
    const messages = slack.messages();
    for (const { ts, blocks, threadTs } of messages.slice(read))
      if (threadTs === null) codes.add(ts, JSON.stringify(blocks));
    read = messages.length;
  });
  const messageOf = (ts: string) => {
    const message = slack.messages().find((one) => one.ts === ts);
    if (message === undefined) throw new Error(`There is no message ${ts}`);
    return message;
  };
  return {
    id,
    cardsOf: (code) => codes.messagesOf(code),
    since: (code) => codes.since(code),
    look(ts) {
      const { text, blocks } = messageOf(ts);
      const all = JSON.stringify(blocks);
      return { title: text, text: all, canDecide: /countersign\.(approve|reject)/.test(all) };
    },
    notesUnder: (ts) => slack.messages().filter(({ threadTs }) => threadTs === ts).length,
    async tap({ person, messageId, verdict }) {
      const user = slackUser(person);
      const tapped = await slack.tap({ user, ts: messageId, actionId: `countersign.${verdict}` });
      if (tapped.shownAsError) return { kind: 'unanswered' };
      if (verdict === 'approve' || !hasButton(messageOf(messageId).blocks, verdict))
        return { kind: 'answered', elapsedMs: tapped.elapsedMs };
      const opened = await until(() => slack.modalOf(user), { deadlineMs: MODAL_WITHIN_MS }).catch(
        () => null,
      );
      return opened === null ? { kind: 'unanswered' } : submit(slack, user);
    },
    disconnect(how) {
      for (const connection of slack.sockets?.connections() ?? []) {
        if (how === 'cut') connection.cut();
        else {
          connection.disconnect('warning');
          connection.close();
        }
      }
    },
    counts: () => ({
      cards: slack.messages().filter(({ threadTs }) => threadTs === null).length,
      notes: slack.messages().filter(({ threadTs }) => threadTs !== null).length,
      changes: slack.messages().reduce((sum, { earlier }) => sum + earlier.length, 0),
    }),
    stop: () => slack.stop(),
  };
}

async function submit(slack: SlackStandin, user: string): Promise<TapAnswer> {
  const result = await slack.submitModal({ user, reason: 'not as agreed' });
  slack.closeModal(user);
  return result === null || result.shownAsError
    ? { kind: 'unanswered' }
    : { kind: 'answered', elapsedMs: result.elapsedMs };
}

const hasButton = (blocks: readonly JsonObject[], verdict: string): boolean =>
  JSON.stringify(blocks).includes(`countersign.${verdict}`);
