import { CARD_TEXTS } from '../../src/confirmation/card-texts.ts';
import { LI_WEI, WANG_FANG } from '../../src/demo/cast.ts';
import type { DemoWorld } from '../../src/demo/demo-world.ts';
import { type Asked, asAgent, ask, askByRun, asPerson } from './picture-requests.ts';
import { PICTURE_WORDS } from './picture-words.ts';
import type { DrawnCards } from './request-cards.ts';
import { feishuView, type Scene, slackView } from './scene.ts';

/** Rules that bring one and the same payment into states that otherwise take long; `metadata.rule` chooses. */
export const PICTURE_POLICIES = `policies:
  - id: courier-payment
    tools: ["oa__purchase_pay"]
    when: 'has(metadata.rule) && metadata.rule == "hasty"'
    approvers: ["group:finance"]
    quorum: 2
    decideWithin: 5s
    reason: on-reject
  - id: payment-at-once
    tools: ["oa__purchase_pay"]
    when: 'has(metadata.rule) && metadata.rule == "lapsing"'
    approvers: ["group:finance"]
    quorum: 2
    decideWithin: 2h
    executeWithin: 5s
    reason: on-reject
  - id: new-supplier
    tools: ["oa__purchase_pay"]
    when: 'has(metadata.rule) && metadata.rule == "cooling"'
    approvers: ["group:finance"]
    quorum: 2
    decideWithin: 2h
    coolOff: 30m
    reason: on-reject
  - id: large-payment
    tools: ["oa__purchase_pay"]
    when: 'money(args.amount, args.currency) > money("50000", "CNY")'
    approvers: ["group:finance"]
    quorum: 2
    decideWithin: 2h
    reason: on-reject
`;

/** Brings real requests through the service into every state a card can show. */
export async function playScenes(world: DemoWorld): Promise<readonly Scene[]> {
  const scenes: Scene[] = [];
  const words = PICTURE_WORDS[world.locale];
  const texts = CARD_TEXTS[world.locale];
  const scene = (name: string, { feishu, slack }: DrawnCards) => {
    scenes.push({
      name,
      feishu: feishuView({ messages: [feishu] }),
      slack: slackView({ messages: [slack] }),
    });
  };

  const hasty = await ask(world, 'hasty');
  const lapsing = await ask(world, 'lapsing');
  await approve(lapsing);
  const first = await ask(world);
  scene('pending', await first.cards.holding('0/2'));
  await first.cards.tapInFeishu(LI_WEI, 'approve');
  scene('1 of 2', await first.cards.holding('1/2'));
  await first.cards.tapInSlack(WANG_FANG, 'approve');
  scene('approved', await first.cards.holding(texts.states.approved));
  await asAgent(world, `/${first.id}/claim`, { args: words.args });
  scene('executing', await first.cards.holding(texts.states.executing));
  await asAgent(world, `/${first.id}/outcome`, { status: 'unknown' });
  scene('unknown', await first.cards.holding(texts.states.unknown));

  const run = await askByRun(world);
  await approve(run);
  scene('executed', await run.cards.holding(texts.states.succeeded));

  const failing = await ask(world);
  await approve(failing);
  await asAgent(world, `/${failing.id}/claim`, { args: words.args });
  await asAgent(world, `/${failing.id}/outcome`, { status: 'failed', detail: words.failedBecause });
  scene('failed', await failing.cards.holding(texts.states.failed));

  const cooling = await ask(world, 'cooling');
  await approve(cooling);
  scene('cooling off', await cooling.cards.holding(texts.states['cooling-off']));
  await cooling.cards.tapInFeishu(LI_WEI, 'revoke');
  scene('revoked', await cooling.cards.holding(texts.states.revoked));

  const rejected = await ask(world);
  await rejected.cards.tapInFeishu(LI_WEI, 'reject', words.rejectedBecause);
  scene('rejected', await rejected.cards.holding(texts.states.rejected));

  const withdrawn = await ask(world);
  await withdrawn.cards.holding('0/2');
  await asAgent(world, `/${withdrawn.id}/cancel`, {});
  scene('cancelled', await withdrawn.cards.holding(texts.states.cancelled));
  scene('expired', await hasty.cards.holding(texts.states.expired));
  scene('lapsed', await lapsing.cards.holdingWithin(30_000, texts.states.lapsed));

  const frozen = await ask(world);
  await asPerson(world, LI_WEI.id, '/v1/freezes', { tools: ['oa__*'], reason: words.frozenBecause });
  scene('frozen', await frozen.cards.holding(texts.frozen));
  return scenes;
}

async function approve({ cards }: Asked): Promise<void> {
  await cards.tapInFeishu(LI_WEI, 'approve');
  await cards.tapInSlack(WANG_FANG, 'approve');
}
