import type { Card, CardInLanguage } from '../channel/card.ts';
import type { Channel } from '../channel/channel.ts';
import { type ChannelFinding, failed, passed, verbatim } from '../channel/diagnosis.ts';
import type { Config } from '../config/config.ts';
import { newConfirmationId, newDeliveryId } from '../ids.ts';
import { LOCALES, type Locale } from '../locale.ts';

/** Posts a card without buttons into the channel's chat, and changes it: everything that cards of requests go through. */
export async function* sendTrialCard(input: {
  readonly channel: Channel;
  readonly config: Pick<Config, 'publicUrl'>;
  readonly signal: AbortSignal;
}): AsyncIterable<ChannelFinding> {
  const { channel, config, signal } = input;
  const confirmationId = newConfirmationId();
  const drawn = (step: 'sent' | 'changed') =>
    channel.render(trialCard(step, { ...config, confirmationId, locale: channel.locale }), TOKEN);
  const delivery = { id: newDeliveryId(), confirmationId, token: TOKEN, attempt: 1, signal };
  const sent = await channel.send({ ...delivery, rendered: drawn('sent') });
  if (sent.kind !== 'sent') return yield refused(channel, sent.error);
  yield passed({
    'zh-CN': `卡片已发送（${sent.messageId}）`,
    'en-US': `a card was sent (${sent.messageId})`,
  });
  const { messageId } = sent;
  const updated = await channel.update({ ...delivery, messageId, rendered: drawn('changed') });
  yield updated.kind === 'updated'
    ? passed({ 'zh-CN': '卡片已更新', 'en-US': 'the card was changed' })
    : refused(channel, updated.error);
}

const refused = (channel: Channel, error: string): ChannelFinding =>
  failed(verbatim(error), channel.advise?.(error) ?? null);

/** Opens nothing: the card has no buttons. */
const TOKEN = 'trial-card-of-doctor';

function trialCard(
  step: 'sent' | 'changed',
  about: Pick<Config, 'publicUrl'> & Pick<CardInLanguage, 'confirmationId' | 'locale'>,
): Card {
  const inLanguage = (locale: Locale): CardInLanguage => ({
    confirmationId: about.confirmationId,
    version: step === 'sent' ? 1 : 2,
    locale,
    state: 'cancelled',
    frozen: false,
    title: TITLES[step][locale],
    tool: 'countersign doctor',
    lines: [],
    linesLeftOut: 0,
    warnings: [],
    summary: null,
    facts: [],
    references: [],
    digest: null,
    outcome: [],
    verificationCode: '--------',
    link: about.publicUrl ?? 'http://127.0.0.1/',
    linkLabel: 'Countersign',
    followedLink: null,
    actions: { kind: 'none' },
  });
  const others = LOCALES.filter((locale) => locale !== about.locale);
  return { ...inLanguage(about.locale), translations: others.map(inLanguage) };
}

const TITLES = {
  sent: {
    'zh-CN': '测试卡片：由 countersign doctor 发送，无需处理',
    'en-US': 'Trial card of `countersign doctor`: there is nothing to decide',
  },
  changed: {
    'zh-CN': '测试卡片：发送与更新均成功，无需处理',
    'en-US': 'Trial card: sent and changed, there is nothing to decide',
  },
} as const;
