import type { DemoWorld } from '../../src/demo/demo-world.ts';
import { PICTURE_WORDS } from './picture-words.ts';
import { type RequestCards, requestCards } from './request-cards.ts';

export interface Asked {
  readonly id: string;
  readonly cards: RequestCards;
}

/** Asks for a payment under the policy that `rule` chooses by the request's metadata; its cards stand in both chats. */
export async function ask(
  world: DemoWorld,
  rule = 'large',
  call: {
    readonly tool?: string;
    readonly args?: Readonly<Record<string, string>>;
    readonly session?: string;
  } = {},
): Promise<Asked> {
  const { args, summary } = PICTURE_WORDS[world.locale];
  const { confirmation } = (await asAgent(world, '', {
    tool: call.tool ?? 'oa__purchase_pay',
    args: call.args ?? args,
    agent: 'procurement',
    summary,
    metadata: { rule },
    ...(call.session !== undefined && { session: call.session }),
  })) as { confirmation: { id: string } };
  const cards = requestCards(world, confirmation.id);
  await cards.holding();
  return { id: confirmation.id, cards };
}

/** A payment that the service's own agent makes; its cards, once it waits for approval. */
export async function askByRun(world: DemoWorld): Promise<Asked> {
  const { id } = await world.service.startRun(PICTURE_WORDS[world.locale].instruction);
  const run = await world.service.waitForRun(id, 'waiting');
  const request = run.invocations.find(({ confirmation }) => confirmation !== null)?.confirmation;
  if (!request) throw new Error(`The run asked for nothing: ${JSON.stringify(run)}`);
  const cards = requestCards(world, request);
  await cards.holding();
  return { id: request, cards };
}

/** Claims the grant, and says that nobody knows what became of the call. */
export async function loseOutcome(world: DemoWorld, { id }: Asked): Promise<void> {
  await asAgent(world, `/${id}/claim`, { args: PICTURE_WORDS[world.locale].args });
  await asAgent(world, `/${id}/outcome`, { status: 'unknown' });
}

export const asAgent = (world: DemoWorld, path: string, body: object): Promise<unknown> =>
  postJson(world, `/v1/confirmations${path}`, world.secrets.PROCUREMENT_KEY, body);

export const asPerson = (world: DemoWorld, person: string, path: string, body: object): Promise<unknown> =>
  postJson(world, path, keyOf(world, person), body);

export const keyOf = (world: DemoWorld, person: string): string =>
  world.secrets.consoleKeys.get(person) ?? '';

async function postJson(world: DemoWorld, path: string, key: string, body: object): Promise<unknown> {
  const response = await fetch(new URL(path, world.serviceUrl), {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`POST ${path}: ${response.status} ${await response.text()}`);
  return response.json();
}
