import type { TapAction } from '../../src/channel/inbound-event.ts';
import { CARD_TEXTS } from '../../src/confirmation/card-texts.ts';
import { CHEN_JIE, type DemoPerson, LI_WEI, WANG_FANG, ZHAO_MIN } from '../../src/demo/cast.ts';
import type { DemoWorld } from '../../src/demo/demo-world.ts';
import { waitUntil } from '../../src/demo/wait-until.ts';
import type { SlackEphemeral } from '../../src/standin/slack/platform.ts';
import { type Asked, ask, loseOutcome } from './picture-requests.ts';
import { PICTURE_WORDS } from './picture-words.ts';
import { type FeishuToast, feishuView, type Notice, type Scene, slackView } from './scene.ts';

/** What people are told after their taps, as each chat tells it: one and the same story, once in each. */
export async function playNotices(world: DemoWorld): Promise<Scene> {
  const feishu = await playStory(world, (...tap) => tapInFeishu(world, ...tap));
  const slack = await playStory(world, (...tap) => tapInSlack(world, ...tap));
  return {
    name: 'what people are told',
    feishu: feishuView({ notices: feishu }),
    slack: slackView({ notices: slack }),
  };
}

/** Makes the tap of one person ready; once it is called, the person taps on the card as it stood before. */
type PrepareTap<Told> = (
  asked: Asked,
  person: DemoPerson,
  action: TapAction,
  reason?: string,
) => Promise<() => Promise<Told>>;

async function playStory<Told>(
  world: DemoWorld,
  prepare: PrepareTap<Told>,
): Promise<readonly Notice<Told>[]> {
  const words = PICTURE_WORDS[world.locale];
  const texts = CARD_TEXTS[world.locale];
  const notices: Notice<Told>[] = [];
  const tell = async (after: string, tap: () => Promise<Told>) => {
    notices.push({ after, told: await tap() });
  };

  const hasty = await ask(world, 'hasty');
  const tooLate = await prepare(hasty, LI_WEI, 'approve');

  const first = await ask(world);
  const late = await prepare(first, LI_WEI, 'reject', words.rejectedBecause);
  await tell('approved, first of two', await prepare(first, LI_WEI, 'approve'));
  await tell('the same again', await prepare(first, LI_WEI, 'approve'));
  await tell('by somebody who is no approver', await prepare(first, CHEN_JIE, 'approve'));
  await tell('by the requester', await prepare(first, ZHAO_MIN, 'approve'));
  await tell('approved, second of two', await prepare(first, WANG_FANG, 'approve'));
  await tell('after it was decided', late);

  const second = await ask(world);
  await tell('rejected', await prepare(second, LI_WEI, 'reject', words.rejectedBecause));

  const cooling = await ask(world, 'cooling');
  await (await prepare(cooling, LI_WEI, 'approve'))();
  await (await prepare(cooling, WANG_FANG, 'approve'))();
  await cooling.cards.holding(texts.states['cooling-off']);
  const secondThoughts = await prepare(cooling, WANG_FANG, 'revoke');
  await tell('revoked while it cools off', await prepare(cooling, LI_WEI, 'revoke'));
  await tell('after it was revoked', secondThoughts);

  const lost = await ask(world);
  await (await prepare(lost, LI_WEI, 'approve'))();
  await (await prepare(lost, WANG_FANG, 'approve'))();
  await loseOutcome(world, lost);
  await lost.cards.holding(texts.states.unknown);
  const contradiction = await prepare(lost, WANG_FANG, 'failed', words.found);
  await tell('settled: it succeeded', await prepare(lost, LI_WEI, 'succeeded', words.found));
  await tell('after it was settled', contradiction);

  await hasty.cards.holding(texts.states.expired);
  await tell('after the deadline', tooLate);
  return notices;
}

async function tapInFeishu(
  world: DemoWorld,
  asked: Asked,
  { feishuOpenId: openId }: DemoPerson,
  action: TapAction,
  reason = '',
): Promise<() => Promise<FeishuToast>> {
  const { feishu } = await asked.cards.holding();
  const callback = world.feishu.callbackOf({
    openId,
    messageId: feishu.messageId,
    element: ({ name, value }) => value?.action === action || (name?.startsWith(`${action}.`) ?? false),
    formValue: { reason },
  });
  const language = world.locale === 'zh-CN' ? 'zh_cn' : 'en_us';
  return async () => {
    const url = `${world.serviceUrl}/channels/pay-feishu/callback`;
    const response = await fetch(url, { method: 'POST', headers: callback.headers, body: callback.body });
    const { toast } = (await response.json()) as {
      toast: { type: string; i18n: Readonly<Record<string, string>> };
    };
    return { type: toast.type, text: toast.i18n[language] ?? '' };
  };
}

async function tapInSlack(
  world: DemoWorld,
  asked: Asked,
  { slackUser: user }: DemoPerson,
  action: TapAction,
  reason = '',
): Promise<() => Promise<SlackEphemeral>> {
  const { slack } = await asked.cards.holding();
  return async () => {
    const before = world.slack.ephemeralsOf(user).length;
    const told = () => world.slack.ephemeralsOf(user)[before];
    await world.slack.tap({ user, ts: slack.ts, actionId: `countersign.${action}` });
    await waitUntil(`${user} is told or asked`, () => told() ?? world.slack.modalOf(user));
    if (world.slack.modalOf(user) !== null) await world.slack.submitModal({ user, reason });
    return waitUntil(`${user} is told`, told);
  };
}
