import type { Logger } from 'pino';
import { assertNever } from '../../src/assert-never.ts';
import type { Notice } from '../../src/channel/card.ts';
import type { ChannelAnswer } from '../../src/channel/channel.ts';
import { ACKNOWLEDGED, jsonAnswer } from '../../src/channel/http-answers.ts';
import type { CallbackReply, TapEvent } from '../../src/channel/inbound-event.ts';
import { noticeText } from '../../src/channel/notice-text.ts';
import { onOneLine } from '../../src/channel/one-line.ts';
import { type Clock, sleep } from '../../src/clock.ts';
import type { Locale } from '../../src/locale.ts';
import type { SlackClient } from './client.ts';
import { cut, cutShort, escapeControls, LIMITS } from './limits.ts';
import type { SlackHandle } from './parse.ts';
import type { PersonLocales } from './person-locale.ts';
import { REASON_MODAL, writeModalContext } from './wire.ts';

/** Slack's trigger ids live for 3 seconds; a modal that is not open by then will not open. */
const OPEN_TIMEOUT_MS = 3000;
/** Later than this the card says more than the notice would. */
const LONGEST_TELL_WAIT_MS = 30_000;

/**
 * The core's reply in Slack's terms. A tap on a message is acknowledged with an empty 200; what the person is told
 * follows as an ephemeral message or a modal. A submitted modal is answered in the modal itself.
 */
export function replyTo(input: {
  readonly event: TapEvent;
  readonly reply: CallbackReply;
  /** The chat's language, for a modal that does not say in which it asked. */
  readonly locale: Locale;
  readonly locales: PersonLocales;
  readonly client: SlackClient;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The channel stops: whom Slack has no time for now is not waited for any more. */
  readonly stopping: AbortSignal;
}): ChannelAnswer {
  const { event, reply, locales } = input;
  // Only `parse` makes events of this channel, and it always gives them this handle.
  const handle = event.handle as SlackHandle;
  const locale = (handle.surface === 'modal' ? handle.locale : null) ?? input.locale;
  /** What only this person sees, once it is known in which language they read. */
  const inTheirLanguage = (work: (input: Replying) => Promise<void>) => async () =>
    work({ ...input, locale: await locales.of(event.actor.ids.user) });
  const later = (work: (input: Replying) => Promise<void>) => ({
    answer: ACKNOWLEDGED,
    afterwards: inTheirLanguage(work),
  });
  switch (reply.kind) {
    case 'notice':
      if (handle.surface === 'message') return later((person) => tell(person, reply.notice));
      if (reply.notice.level !== 'success') return inModal(reply.notice, locale);
      return {
        answer: jsonAnswer({ response_action: 'clear' }),
        afterwards: inTheirLanguage((person) => tell(person, reply.notice)),
      };
    case 'reason-missing':
      if (handle.surface === 'message') return later((person) => tell(person, reply.notice));
      return {
        answer: jsonAnswer({
          response_action: 'errors',
          errors: { [REASON_MODAL.blockId]: cut(reply.notice.text[locale], 300, locale) },
        }),
      };
    case 'ask-reason':
      // The person has just answered a modal: asking them the same again there would go round in circles.
      if (handle.surface === 'modal') return inModal(reply.failure, locale);
      return later((person) => openReasonModal({ ...person, reply, triggerId: handle.triggerId }));
    default:
      return assertNever(reply);
  }
}

type Replying = Parameters<typeof replyTo>[0];

/** Where many tap at once Slack limits the rate: what it has not done is done once more, when it says. */
async function tell(input: Replying, notice: Notice): Promise<void> {
  const { event, locale, client, clock, logger, stopping } = input;
  const text = noticeText(notice, locale);
  const post = () =>
    client.call({
      method: 'chat.postEphemeral',
      args: {
        channel: event.chat,
        user: event.actor.ids.user,
        text: escapeControls(cut(text, LIMITS.fallbackText, locale)),
        blocks: [textSection(text, locale)],
        parse: 'none',
        link_names: false,
      },
    });
  let result = await post();
  const waitMs = result.kind === 'not-done' ? result.retryAfterMs : null;
  if (waitMs !== null && waitMs <= LONGEST_TELL_WAIT_MS) {
    const waited = await sleep(clock, waitMs, stopping).then(
      () => true,
      () => false,
    );
    if (waited) result = await post();
  }
  if (result.kind !== 'ok') logger.warn({ error: result.error }, 'a person could not be told in Slack');
}

async function openReasonModal(
  input: Replying & {
    readonly reply: Extract<CallbackReply, { kind: 'ask-reason' }>;
    readonly triggerId: string | null;
  },
): Promise<void> {
  const { triggerId, client, logger, reply } = input;
  const result =
    triggerId === null
      ? ({ kind: 'refused', error: 'views.open: the callback had no trigger id' } as const)
      : await client.call({
          method: 'views.open',
          args: { trigger_id: triggerId, view: reasonView(input) },
          timeoutMs: OPEN_TIMEOUT_MS,
        });
  if (result.kind === 'ok') return;
  logger.warn({ error: result.error }, 'the modal that asks for a reason could not be opened');
  await tell(input, reply.failure);
}

function reasonView({
  event,
  reply,
  locale,
}: Replying & { readonly reply: Extract<CallbackReply, { kind: 'ask-reason' }> }) {
  const recap = reply.recap[locale].map(onOneLine).join('\n');
  return {
    type: 'modal',
    callback_id: REASON_MODAL.callbackId,
    private_metadata: writeModalContext({
      request: reply.confirmation,
      token: reply.token,
      version: event.cardVersion,
      verdict: reply.action,
      person: event.actor.ids.user ?? '',
      chat: event.chat,
      message: event.messageId,
      locale,
    }),
    title: plainText(cutShort(reply.title[locale], LIMITS.viewTitle)),
    submit: plainText(cutShort(reply.submit[locale], LIMITS.viewButton)),
    close: plainText(cutShort(reply.cancel[locale], LIMITS.viewButton)),
    blocks: [
      ...(recap === '' ? [] : [textSection(recap, locale)]),
      {
        type: 'input',
        block_id: REASON_MODAL.blockId,
        label: plainText(cut(reply.label[locale], LIMITS.inputLabel, locale)),
        element: {
          type: 'plain_text_input',
          action_id: REASON_MODAL.actionId,
          multiline: true,
          max_length: LIMITS.reason,
        },
      },
    ],
  };
}

const CLOSE: Readonly<Record<Locale, string>> = { 'zh-CN': '关闭', 'en-US': 'Close' };

/** The submitted modal turns into one that says the notice. */
const inModal = (notice: Notice, locale: Locale): ChannelAnswer => ({
  answer: jsonAnswer({
    response_action: 'update',
    view: {
      type: 'modal',
      title: plainText('Countersign'),
      close: plainText(CLOSE[locale]),
      blocks: [textSection(noticeText(notice, locale), locale)],
    },
  }),
});

const plainText = (text: string) => ({ type: 'plain_text', text, emoji: false });
const textSection = (text: string, locale: Locale) => ({
  type: 'section',
  text: plainText(cut(text, LIMITS.section, locale)),
});
