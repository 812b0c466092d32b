import { CARD_TEXTS } from '../../src/confirmation/card-texts.ts';
import { LI_WEI, WANG_FANG } from '../../src/demo/cast.ts';
import type { DemoWorld } from '../../src/demo/demo-world.ts';
import { waitUntil } from '../../src/demo/wait-until.ts';
import type { SlackModal } from '../../src/standin/slack/platform.ts';
import { PICTURE_WORDS } from './picture-words.ts';
import { type DrawnCards, type RequestCards, requestCards } from './request-cards.ts';

/** One state as both chats show it. */
export interface Scene {
  readonly name: string;
  readonly cards: DrawnCards;
  /** The modal that Slack has open over the card. */
  readonly modal: SlackModal | null;
}

/** Rules that bring one and the same payment into states that otherwise take long; `metadata.rule` chooses. */
export const PICTURE_POLICIES = `policies:
  - id: courier-payment
    tools: ["oa__purchase_pay"]
    when: 'has(metadata.rule) && metadata.rule == "hasty"'
    approvers: ["group:finance"]
    quorum: 2
    decideWithin: 5s
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
  const scene = (name: string, cards: DrawnCards, modal: SlackModal | null = null) => {
    scenes.push({ name, cards, modal });
  };

  const hasty = await ask(world, 'hasty');
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

  scene('executed', await playRun(world));

  const failing = await approved(world);
  await asAgent(world, `/${failing.id}/claim`, { args: words.args });
  await asAgent(world, `/${failing.id}/outcome`, { status: 'failed', detail: words.failedBecause });
  scene('failed', await failing.cards.holding(texts.states.failed));

  const cooling = await approved(world, 'cooling');
  scene('cooling off', await cooling.cards.holding(texts.states['cooling-off']));
  await cooling.cards.tapInFeishu(LI_WEI, 'revoke');
  scene('revoked', await cooling.cards.holding(texts.states.revoked));

  const rejected = await ask(world);
  await rejected.cards.tapInSlack(WANG_FANG, 'reject');
  const modal = await waitUntil('Slack asks for a reason', () => world.slack.modalOf(WANG_FANG.slackUser));
  scene('asked for a reason', await rejected.cards.holding('0/2'), modal);
  await world.slack.submitModal({ user: WANG_FANG.slackUser, reason: words.rejectedBecause });
  scene('rejected', await rejected.cards.holding(texts.states.rejected));

  const withdrawn = await ask(world);
  await withdrawn.cards.holding('0/2');
  await asAgent(world, `/${withdrawn.id}/cancel`, {});
  scene('cancelled', await withdrawn.cards.holding(texts.states.cancelled));
  scene('expired', await hasty.cards.holding(texts.states.expired));

  const frozen = await ask(world);
  await call(world, '/v1/freezes', keyOf(world, LI_WEI.id), {
    tools: ['oa__*'],
    reason: words.frozenBecause,
  });
  scene('frozen', await frozen.cards.holding(texts.frozen));
  return scenes;
}

interface Asked {
  readonly id: string;
  readonly cards: RequestCards;
}

async function ask(world: DemoWorld, rule: 'hasty' | 'cooling' | 'large' = 'large'): Promise<Asked> {
  const { args, summary } = PICTURE_WORDS[world.locale];
  const body = { tool: 'oa__purchase_pay', args, agent: 'procurement', summary, metadata: { rule } };
  const { confirmation } = (await asAgent(world, '', body)) as { confirmation: { id: string } };
  const cards = requestCards(world, confirmation.id);
  await cards.holding();
  return { id: confirmation.id, cards };
}

async function approved(world: DemoWorld, rule: 'cooling' | 'large' = 'large'): Promise<Asked> {
  const asked = await ask(world, rule);
  await asked.cards.tapInFeishu(LI_WEI, 'approve');
  await asked.cards.tapInSlack(WANG_FANG, 'approve');
  return asked;
}

/** A payment that the service's own agent makes, so that its own executor says what became of it. */
async function playRun(world: DemoWorld): Promise<DrawnCards> {
  const { id } = await world.service.startRun(PICTURE_WORDS[world.locale].instruction);
  const run = await world.service.waitForRun(id, 'waiting');
  const request = run.invocations.find(({ confirmation }) => confirmation !== null)?.confirmation;
  if (!request) throw new Error(`The run asked for nothing: ${JSON.stringify(run)}`);
  const cards = requestCards(world, request);
  await cards.tapInFeishu(LI_WEI, 'approve');
  await cards.tapInSlack(WANG_FANG, 'approve');
  return cards.holding(CARD_TEXTS[world.locale].states.succeeded);
}

const asAgent = (world: DemoWorld, path: string, body: object): Promise<unknown> =>
  call(world, `/v1/confirmations${path}`, world.secrets.PROCUREMENT_KEY, body);

const keyOf = (world: DemoWorld, person: string): string => world.secrets.consoleKeys.get(person) ?? '';

async function call(world: DemoWorld, path: string, key: string, body: object): Promise<unknown> {
  const response = await fetch(new URL(path, world.serviceUrl), {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`POST ${path}: ${response.status} ${await response.text()}`);
  return response.json();
}
