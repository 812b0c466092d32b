import { CARD_TEXTS } from '../../src/confirmation/card-texts.ts';
import { UNKNOWN_TEXTS } from '../../src/confirmation/unknown-texts.ts';
import { LI_WEI, WANG_FANG } from '../../src/demo/cast.ts';
import type { DemoWorld } from '../../src/demo/demo-world.ts';
import { waitUntil } from '../../src/demo/wait-until.ts';
import type { SlackModal } from '../../src/standin/slack/platform.ts';
import { type Asked, ask, askByRun, loseOutcome } from './picture-requests.ts';
import { PICTURE_WORDS } from './picture-words.ts';
import type { DrawnCards } from './request-cards.ts';
import { feishuView, type Scene, slackView } from './scene.ts';

/** Rules that differ in what they ask of people; `metadata.rule` chooses, and can only tighten the last one. */
export const MOMENT_POLICIES = `policies:
  - { id: courier-payment, ${payment('hasty')}, decideWithin: 5s, reason: on-reject }
  - { id: new-supplier, ${payment('cooling')}, decideWithin: 2h, coolOff: 30m, reason: on-reject }
  - { id: payment-with-reasons, ${payment('reasons')}, decideWithin: 2h, notify: both, reason: always }
  - { id: nobody-looks, ${payment('slow')}, decideWithin: 2h, remindAfter: 1s, reason: on-reject }
  - id: large-payment
    tools: ["oa__purchase_pay", "bank__transfer"]
    when: 'money(args.amount, args.currency) > money("50000", "CNY")'
    approvers: ["group:finance", "person:zhao.min"]
    quorum: 2
    decideWithin: 2h
    reason: on-reject
`;

function payment(rule: string): string {
  const when = `has(metadata.rule) && metadata.rule == "${rule}"`;
  return `tools: ["oa__purchase_pay"], when: '${when}', approvers: ["group:finance"], quorum: 2`;
}

/** What people are asked and shown beside the states of a card: dialogs and forms, reminders, cards that say less. */
export async function playMoments(world: DemoWorld): Promise<readonly Scene[]> {
  const words = PICTURE_WORDS[world.locale];
  const texts = CARD_TEXTS[world.locale];
  // What it came to can be settled only once its sending cannot be under way any more: the rest is played meanwhile.
  const unanswered = await askByRun(world);
  world.payments.loseNextAnswer();
  await approve(unanswered);

  const scenes: Scene[] = [];
  const scene = (name: string, { feishu, slack }: DrawnCards) =>
    scenes.push({
      name,
      feishu: feishuView({ messages: [feishu] }),
      slack: slackView({ messages: [slack] }),
    });
  /** Slack asks in a modal, once the button was tapped; in Feishu the form stands on the card. */
  const dialog = async (input: {
    readonly name: string;
    readonly asked: Asked;
    readonly action: 'approve' | 'reject' | 'succeeded' | 'failed' | 'run_again';
    readonly typed: string;
    readonly inFeishu: boolean;
  }) => {
    const { name, asked, action, typed, inFeishu } = input;
    const { feishu } = await asked.cards.holding();
    const modal = await modalAfter(world, asked, action);
    scenes.push({
      name,
      feishu: inFeishu ? feishuView({ messages: [feishu], typed }) : null,
      slack: slackView({ modal, typed }),
    });
  };

  const plain = await ask(world);
  const rejecting = { asked: plain, action: 'reject', typed: words.rejectedBecause } as const;
  await dialog({ name: 'why it is rejected', ...rejecting, inFeishu: true });
  const careful = await ask(world, 'reasons');
  const approving = { asked: careful, action: 'approve', typed: words.approvedBecause } as const;
  await dialog({ name: 'why it is approved (reason: always)', ...approving, inFeishu: true });
  scenes.push(await directMessages(world, careful));

  const session = 'paper-for-the-quarter';
  const tooMuch = await ask(world, 'large', { session });
  await tooMuch.cards.tapInFeishu(LI_WEI, 'reject', words.rejectedBecause);
  await tooMuch.cards.holding(texts.states.rejected);
  const less = { ...words.args, amount: '64000.00' };
  scene(
    'asked again after a rejection',
    await (await ask(world, 'large', { args: less, session })).cards.holding(),
  );

  const lost = await ask(world);
  await approve(lost);
  await loseOutcome(world, lost);
  await lost.cards.holding(texts.states.unknown, UNKNOWN_TEXTS[world.locale].actions.succeeded);
  const settling = { asked: lost, typed: words.found } as const;
  await dialog({ name: 'settled: it succeeded', ...settling, action: 'succeeded', inFeishu: true });
  await dialog({ name: 'settled: it failed', ...settling, action: 'failed', inFeishu: false });

  const slow = await ask(world, 'slow');
  scenes.push(await reminder(world, slow));

  const args = { ...words.args, memo: `${words.args.memo}, portal password=Tr0ub4dor&3` };
  scene('a secret is masked', await (await ask(world, 'large', { args })).cards.holding());
  const hidden = { ...words.args, payee: words.args.payee.replace(/^(.{2})/u, '$1\u200b\u202e') };
  scene('hidden characters', await (await ask(world, 'large', { args: hidden })).cards.holding());
  const long = { ...words.args, payee: `${words.args.payee}; `.repeat(1_500) };
  const unfit = await ask(world, 'large', { tool: 'bank__transfer', args: long });
  scene('too long to be approved here', await unfit.cards.holding());
  refuseContent(world, 1);
  scene('the platform refused the words', await (await ask(world)).cards.holding());
  refuseContent(world, 2);
  scene('the platform refused every word', await (await ask(world)).cards.holding());

  const again = UNKNOWN_TEXTS[world.locale].actions.run_again;
  await unanswered.cards.holdingWithin(90_000, again);
  const repeating = { asked: unanswered, action: 'run_again', typed: words.runAgainBecause } as const;
  await dialog({ name: 'to be run again', ...repeating, inFeishu: true });
  return scenes;
}

async function approve({ cards }: Asked): Promise<void> {
  await cards.tapInFeishu(LI_WEI, 'approve');
  await cards.tapInSlack(WANG_FANG, 'approve');
}

async function modalAfter(
  world: DemoWorld,
  { cards }: Asked,
  action: 'approve' | 'reject' | 'succeeded' | 'failed' | 'run_again',
): Promise<SlackModal> {
  const { slackUser } = WANG_FANG;
  await cards.tapInSlack(WANG_FANG, action);
  const modal = await waitUntil('Slack asks why', () => world.slack.modalOf(slackUser));
  world.slack.closeModal(slackUser);
  return modal;
}

/** The same card as 王芳 has it from the app alone. */
async function directMessages(world: DemoWorld, { id }: Asked): Promise<Scene> {
  const ofRequest = (value: unknown) => JSON.stringify(value).includes(id);
  const { feishuOpenId, slackUser } = WANG_FANG;
  const feishu = await waitUntil('a direct message comes in Feishu', () =>
    world.feishu.directMessagesOf(feishuOpenId).find(({ card }) => ofRequest(card)),
  );
  const slack = await waitUntil('a direct message comes in Slack', () =>
    world.slack.directMessagesOf(slackUser).find(({ blocks }) => ofRequest(blocks)),
  );
  return {
    name: 'a direct message',
    feishu: feishuView({ messages: [feishu] }),
    slack: slackView({ messages: [slack] }),
  };
}

async function reminder(world: DemoWorld, { cards }: Asked): Promise<Scene> {
  const { feishu: card, slack: message } = await cards.holding();
  const feishu = await waitUntil('Feishu reminds', () =>
    world.feishu.messages().find(({ replyTo }) => replyTo === card.messageId),
  );
  const slack = await waitUntil('Slack reminds', () =>
    world.slack.messages().find(({ threadTs }) => threadTs === message.ts),
  );
  return {
    name: 'a reminder under the card',
    feishu: feishuView({ messages: [feishu] }),
    slack: slackView({ messages: [slack] }),
  };
}

/** The next `times` cards that come are refused for what they say, in both chats. */
function refuseContent(world: DemoWorld, times: number): void {
  const body = { code: 230028, msg: 'The messages do NOT pass the audit' };
  for (let time = 0; time < times; time += 1) {
    world.feishu.faults.next('create', { kind: 'answer', status: 400, body });
    world.slack.faults.next('chat.postMessage', 'invalid_blocks');
  }
}
