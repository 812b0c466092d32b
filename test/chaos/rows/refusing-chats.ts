import type { StandinFault } from '../../../src/standin/feishu/fault-queue.ts';
import type { SlackFault } from '../../../src/standin/slack/faults.ts';
import { type ConfirmationJson, call, PAYMENT } from '../../e2e/api.ts';
import { KEYS } from '../../e2e/platforms.ts';
import { until } from '../../support/until.ts';
import { type ChatId, type Gate, startGate } from '../gate.ts';
import type { ChaosRow } from '../row.ts';
import { sideBySide } from '../side-by-side.ts';

/** What befalls the sending of one request's card to each chat, call by call, and what has to become of the request. */
interface Trouble {
  readonly name: string;
  readonly tool: string;
  readonly slack: readonly SlackFault[];
  readonly feishu: readonly StandinFault[];
  readonly end: readonly ChatId[] | 'undeliverable';
}

const BOTH: readonly ChatId[] = ['pay-slack', 'pay-feishu'];
const answer = (status: number, code: number, headers: Readonly<Record<string, string>> = {}) =>
  ({ kind: 'answer', status, body: { code, msg: 'as planned' }, headers }) as const;
const BUSY = answer(429, 99991400, { 'x-ogw-ratelimit-reset': '1' });
const BROKEN = answer(500, 2200);
const TOKEN_REFUSED = answer(400, 99991663);

const TROUBLES: readonly Trouble[] = [
  ...(
    [
      ['429', [{ retryAfterSeconds: 1 }], [BUSY]],
      ['429 twice', [{ retryAfterSeconds: 1 }, { retryAfterSeconds: 1 }], [BUSY, BUSY]],
      ['5xx', ['500', '500'], [BROKEN, BROKEN]],
      ['5xx after it was taken', ['500-after-accept'], [{ ...BROKEN, carriedOut: true }]],
      ['cut', ['reset'], [{ kind: 'cut', carriedOut: false }]],
      ['cut after it was taken', ['reset-after-accept'], [{ kind: 'cut', carriedOut: true }]],
      [
        'taken, then busy',
        ['reset-after-accept', { retryAfterSeconds: 1 }],
        [{ kind: 'cut', carriedOut: true }, BUSY],
      ],
      ['token expired', [], [TOKEN_REFUSED]],
    ] as const
  ).map(([name, slack, feishu]) => ({ name, slack, feishu, tool: 'bank__transfer', end: BOTH })),
  ...(['token_revoked', 'invalid_auth', 'is_archived', 'channel_not_found'] as const).map((code) => ({
    ...{ name: code, tool: 'bank__lone', slack: [code], feishu: [], end: 'undeliverable' as const },
  })),
  ...(
    [
      ['the token is revoked', [TOKEN_REFUSED, TOKEN_REFUSED]],
      ['the group is dissolved', [answer(400, 232009)]],
      ['the bot is out', [answer(400, 230002)]],
    ] as const
  ).map(([name, feishu]) => ({
    name,
    feishu,
    tool: 'bank__rerouted',
    slack: [],
    end: ['pay-slack'] as const,
  })),
  {
    ...{ name: 'archived everywhere', tool: 'bank__rerouted', end: 'undeliverable' },
    ...{ slack: ['is_archived'], feishu: [answer(400, 232009)] },
  },
];
const TAKEN_IN_SILENCE: Trouble = {
  ...{ name: 'no answer after it was taken', tool: 'bank__transfer', end: BOTH },
  ...{ slack: ['timeout-after-accept'], feishu: [{ kind: 'silence', carriedOut: true }] },
};
/** Each of these holds a place for ten seconds. */
const ONE_IN_SILENCE = 20;

export const refusingChats: ChaosRow = {
  id: 'F18',
  title: 'the chats say 429 and 5xx, take cards and do not answer, revoke tokens, archive channels',
  volume: { usual: 20, full: 500 },
  async run({ databaseUrl, rounds }) {
    const gate = await startGate(databaseUrl);
    try {
      const planned = planFaults(gate);
      const ends = await sideBySide(
        rounds,
        async (round) => {
          const trouble =
            round % ONE_IN_SILENCE === 0
              ? TAKEN_IN_SILENCE
              : (TROUBLES[round % TROUBLES.length] ?? TAKEN_IN_SILENCE);
          const marker = `trouble ${round};`;
          planned.set(marker, { slack: [...trouble.slack], feishu: [...trouble.feishu] });
          return play(gate, trouble, marker).catch((error: unknown) => ({
            ...{ fault: `${trouble.name}: ${error}`, duplicates: 0, doubled: 0 },
          }));
        },
        20,
      );
      const faults = ends.flatMap(({ fault }) => fault ?? []);
      const unmet = [...planned.values()].filter(({ slack, feishu }) => slack.length + feishu.length > 0);
      const sum = (of: 'duplicates' | 'doubled') => ends.reduce((total, end) => total + end[of], 0);
      return {
        tried: rounds,
        lost: faults.length + unmet.length,
        doubled: sum('doubled'),
        letIn: 0,
        note:
          faults.slice(0, 3).join('; ') ||
          `each ended as it should, ${sum('duplicates')} duplicate cards, ${unmet.length} faults not met`,
      };
    } finally {
      await gate.stop();
    }
  },
};

/** Faults that are still to befall the cards with a marker in an argument. */
function planFaults({ platforms }: Gate): Map<string, { slack: SlackFault[]; feishu: StandinFault[] }> {
  const planned = new Map<string, { slack: SlackFault[]; feishu: StandinFault[] }>();
  const of = (said: unknown) => planned.get(/trouble \d+;/.exec(JSON.stringify(said) ?? '')?.[0] ?? '');
  platforms.slack.faults.follow((method, { blocks }) =>
    method === 'chat.postMessage' || method === 'chat.update' ? (of(blocks)?.slack.shift() ?? null) : null,
  );
  platforms.feishu.faults.follow((operation, { content }) =>
    operation === 'create' ? (of(content)?.feishu.shift() ?? null) : null,
  );
  return planned;
}

/** Asks, waits for what has to become of it, and where it was delivered decides it and looks at every card. */
async function play(gate: Gate, { name, tool, end }: Trouble, marker: string) {
  const asked = await call<{ readonly confirmation: ConfirmationJson }>(
    gate.url,
    'POST',
    '/v1/confirmations',
    {
      body: { tool, args: { ...PAYMENT, memo: marker }, agent: 'procurement', requester: 'zhao.min' },
    },
  );
  const { id } = asked.body.confirmation;
  const cards: Readonly<Record<ChatId, () => readonly { readonly drawn: string }[]>> = {
    'pay-slack': () =>
      gate.platforms.slack.messages().map(({ blocks }) => ({ drawn: JSON.stringify(blocks) })),
    'pay-feishu': () => gate.platforms.feishu.messages().map(({ card }) => ({ drawn: JSON.stringify(card) })),
  };
  const cardsIn = (chat: ChatId) => cards[chat]().filter(({ drawn }) => drawn.includes(id));
  const options = { deadlineMs: 120_000, what: `the end of ${id}` };
  if (end === 'undeliverable') {
    await until(async () => (await gate.read(id)).status === 'undeliverable', options);
    return { fault: null, duplicates: 0, doubled: BOTH.flatMap(cardsIn).length };
  }
  await until(async () => {
    const { status, deliveries } = await gate.read(id);
    if (status !== 'pending') throw new Error(`${name}: it is ${status}`);
    return end.every((chat) => deliveries.some(({ channel, state }) => channel === chat && state === 'sent'));
  }, options);
  const { argsDigest } = await gate.read(id);
  const voted = await call(gate.url, 'POST', `/v1/confirmations/${id}/votes`, {
    ...{ key: KEYS.liWei, body: { verdict: 'reject', reason: 'looked at', argsDigest } },
  });
  if (voted.status !== 200) return { fault: `${name}: not decided`, duplicates: 0, doubled: 0 };
  await until(
    () => end.every((chat) => cardsIn(chat).some(({ drawn }) => !/countersign\.reject|"reject"/.test(drawn))),
    options,
  );
  const extra = BOTH.map((chat) => cardsIn(chat).length - (end.includes(chat) ? 1 : 0));
  return {
    fault: null,
    duplicates: extra.reduce((sum, count) => sum + count, 0),
    doubled: extra.filter((count) => count > 1).length,
  };
}
