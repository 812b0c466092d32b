import { until } from '../../support/until.ts';
import type { Tap } from '../callbacks.ts';
import { type ChatId, type Gate, type Shown, startGate } from '../gate.ts';
import type { ChaosRow } from '../row.ts';

interface Spoof {
  readonly what: string;
  readonly chat: ChatId;
  readonly tap: Partial<Tap> & Pick<Tap, 'user'>;
  /** What the record says of it. */
  readonly recorded: string;
}

const claims = {
  user: 'U0LIWEI',
  user_id: 'U0LIWEI',
  person: 'li.wei',
  operator: 'ou_liwei',
  approver: 'li.wei',
  openId: 'ou_liwei',
};

/** People who must not be taken for an approver, each saying in every way there is that they are one. */
const SPOOFS: readonly Spoof[] = [
  {
    what: 'nobody, naming an approver',
    chat: 'pay-slack',
    tap: {
      user: 'U0NOBODY',
      extraValue: { selected_user: 'U0LIWEI', ...claims, user: { id: 'U0LIWEI' } },
      extraForm: { reason: 'I am U0LIWEI' },
      extraPayload: { person: 'li.wei', actor: claims },
    },
    recorded: 'vote.refused:unknown_person',
  },
  {
    what: 'nobody, naming an approver',
    chat: 'pay-feishu',
    tap: {
      user: 'ou_nobody',
      extraValue: claims,
      extraForm: { reason: 'ou_liwei', ...claims },
      extraPayload: { operator: { open_id: 'ou_liwei' } },
    },
    recorded: 'vote.refused:unknown_person',
  },
  {
    what: "an approver's id in another team",
    chat: 'pay-slack',
    tap: { user: 'U0LIWEI', userTenant: 'T0OTHER' },
    recorded: 'vote.refused:unknown_person',
  },
  {
    what: "an approver's id in another tenant",
    chat: 'pay-feishu',
    tap: { user: 'ou_liwei', userTenant: 'other' },
    recorded: 'vote.refused:unknown_person',
  },
  {
    what: "a nobody with an approver's other id",
    chat: 'pay-feishu',
    tap: { user: 'ou_nobody', unionId: 'ou_liwei' },
    recorded: 'vote.refused:unknown_person',
  },
  {
    what: 'ids of another letter case',
    chat: 'pay-slack',
    tap: { user: 'U0liwei' },
    recorded: 'vote.refused:unknown_person',
  },
  {
    what: 'an id with a blank',
    chat: 'pay-feishu',
    tap: { user: 'ou_liwei ' },
    recorded: 'vote.refused:unknown_person',
  },
  {
    what: "a bot under a person's id",
    chat: 'pay-slack',
    tap: { user: 'U0LIWEI', isBot: true },
    recorded: 'vote.refused:bot',
  },
  { what: 'Slackbot', chat: 'pay-slack', tap: { user: 'USLACKBOT' }, recorded: 'vote.refused:bot' },
  {
    what: 'an account of two people',
    chat: 'pay-feishu',
    tap: { user: 'ou_amb', unionId: 'on_amb' },
    recorded: 'vote.refused:ambiguous_person',
  },
  {
    what: 'somebody who has left',
    chat: 'pay-slack',
    tap: { user: 'U0OLD' },
    recorded: 'vote.refused:inactive_person',
  },
  {
    what: 'somebody who has left',
    chat: 'pay-feishu',
    tap: { user: 'ou_old' },
    recorded: 'vote.refused:inactive_person',
  },
  {
    what: 'a colleague who is no approver',
    chat: 'pay-slack',
    tap: { user: 'U0BOT' },
    recorded: 'vote.refused:not_an_approver',
  },
  {
    what: 'the requester',
    chat: 'pay-slack',
    tap: { user: 'U0ZHAO' },
    recorded: 'vote.refused:self_approval',
  },
  {
    what: 'the requester',
    chat: 'pay-feishu',
    tap: { user: 'ou_zhao' },
    recorded: 'vote.refused:self_approval',
  },
];

export const spoofedApprover: ChaosRow = {
  id: 'F8',
  title:
    'spoofed approver: ids in value, form and text, other tenants, bots, strangers, two accounts of one person',
  volume: { usual: 60, full: 210 },
  async run({ databaseUrl, rounds }) {
    const gate = await startGate(databaseUrl);
    try {
      let letIn = 0;
      let lost = 0;
      let doubled = 0;
      const faults: string[] = [];
      const fault = (what: string) => faults.push(what);
      let shown = await gate.shown();
      const codes = new Set(SPOOFS.map(({ recorded }) => recorded));
      let expected = new Map<string, number>();
      /** Nothing changed, and each attempt of the round is on the record. */
      const checkRound = async () => {
        const after = await gate.read(shown.id);
        if (after.status !== 'pending' || after.votes?.length !== 0) letIn += 1;
        const events = await gate.events(shown.id);
        for (const [what, count] of expected) {
          if (events[what] === count) continue;
          lost += 1;
          fault(`${what}: ${events[what]} of ${count} on the record`);
        }
      };
      for (let round = 0; round < rounds; round += 1) {
        // The same attempt on the same request is on the record once, so each round has a request of its own.
        if (round > 0 && round % SPOOFS.length === 0) {
          await checkRound();
          shown = await gate.shown();
          expected = new Map();
        }
        const spoof = SPOOFS[round % SPOOFS.length] as Spoof;
        if (!(await isTold(gate, shown, spoof))) {
          lost += 1;
          fault(`${spoof.what}: not told`);
        }
        expected.set(spoof.recorded, (expected.get(spoof.recorded) ?? 0) + 1);
      }
      await checkRound();

      // One person from both chats is one person, and the second one closes.
      shown = await gate.shown('bank__double');
      for (const [chat, user] of [
        ['pay-slack', 'U0LIWEI'],
        ['pay-feishu', 'ou_liwei'],
        ['pay-slack', 'U0LIWEI'],
      ] as const) {
        await gate.send(chat, gate.tap(chat, shown, { user }));
        if ((await gate.read(shown.id)).status !== 'pending') letIn += 1;
      }
      if ((await gate.read(shown.id)).votes?.length !== 1) doubled += 1;
      await gate.send('pay-feishu', gate.tap('pay-feishu', shown, { user: 'ou_wang' }));
      if ((await gate.read(shown.id)).status !== 'approved') lost += 1;
      const note =
        faults.length > 0 ? faults.join('; ') : `${codes.size} codes, each on the record, each person told`;
      return { tried: rounds + 4, lost, doubled, letIn, note };
    } finally {
      await gate.stop();
    }
  },
};

async function isTold(gate: Gate, shown: Shown, { chat, tap }: Spoof): Promise<boolean> {
  const before = gate.platforms.slack.ephemeralsOf(tap.user).length;
  const answer = await gate.send(chat, gate.tap(chat, shown, tap));
  if (answer.status !== 200) return false;
  if (chat === 'pay-feishu') {
    const { toast } = JSON.parse(answer.body) as { toast?: { type: string; content: string } };
    return toast !== undefined && toast.type !== 'success' && toast.content !== '';
  }
  // Slack tells only members of the channel anything; an id in another spelling is no member.
  if (tap.user === 'U0liwei') return true;
  await until(() => gate.platforms.slack.ephemeralsOf(tap.user).length > before, {
    what: `a word to ${tap.user}`,
  });
  return true;
}
