import { CHEN_JIE, LI_WEI, WANG_FANG, ZHAO_MIN } from '../cast.ts';
import type { DemoWorld } from '../demo-world.ts';
import { waitUntil } from '../wait-until.ts';
import { type AskedPayment, askForPayment, bothCardsEndWith, cardsNow, notesUnder } from './asked-payment.ts';
import type { StoryTeller } from './story-teller.ts';
import { WORDS } from './story-words.ts';
import { tapInFeishu, tapInSlack, toastText } from './taps.ts';

const INSTRUCTION = 'Pay Acme Paper 68,000.00 CNY for order PO-1042';

/** A wrong person, the requester herself, a double tap, a late tap, and callbacks sent again: one payment. */
export async function playApproval(world: DemoWorld, teller: StoryTeller): Promise<void> {
  teller.tell(`赵敏 asks the agent: "${INSTRUCTION}"`);
  const asked = await askForPayment(world, INSTRUCTION);
  const code = /[0-9A-HJKMNP-TV-Z]{8}/.exec(textTag(cardsNow(world, asked).feishu))?.[0] ?? 'no code';
  teller.check(
    `the payment is stopped, and a card stands in Feishu and in Slack with the same code (${code})`,
    cardsNow(world, asked).slack.includes(code),
    () => cardsNow(world, asked),
  );
  teller.check('nothing is paid yet', paid(world, '68000.00') === 0, () => world.payments.ledger());
  await wrongPeople(world, asked, teller);
  await approveTwiceAtOnce(world, asked, teller);
  await theEnd(world, asked, teller);
  await lateTapsAndReplays(world, asked, teller);
}

async function wrongPeople(world: DemoWorld, asked: AskedPayment, teller: StoryTeller): Promise<void> {
  const { locale } = world;
  const toldChen = await tapInSlack(world, asked, CHEN_JIE, 'approve');
  teller.check(
    `陈杰, no approver, taps Approve in Slack and is told: ${toldChen}`,
    toldChen.includes(WORDS.notAnApprover[locale]),
  );
  const toldZhao = toastText(await tapInFeishu(world, asked, ZHAO_MIN, 'approve'));
  teller.check(
    `赵敏, who asked for it, taps Approve in Feishu and is told: ${toldZhao}`,
    toldZhao.includes(WORDS.notAnApprover[locale]) || toldZhao.includes(WORDS.selfApproval[locale]),
  );
  const { status } = await world.service.run(asked.run);
  teller.check(
    'nothing has changed: still waiting, still unpaid',
    status === 'waiting' && paid(world, '68000.00') === 0,
    () => status,
  );
}

async function approveTwiceAtOnce(world: DemoWorld, asked: AskedPayment, teller: StoryTeller): Promise<void> {
  const { locale } = world;
  const taps = await Promise.all([
    tapInFeishu(world, asked, LI_WEI, 'approve'),
    tapInFeishu(world, asked, LI_WEI, 'approve'),
  ]);
  const texts = taps.map(toastText);
  const told = (words: string) => texts.filter((text) => text.includes(words)).length;
  teller.check(
    `李伟 taps Approve in Feishu, twice at once; one tap decides: ${texts.find((text) => text.includes(WORDS.approved[locale]))}`,
    told(WORDS.approved[locale]) === 1,
    () => texts,
  );
  teller.check(
    `the other is told: ${texts.find((text) => text.includes(WORDS.alreadyApproved[locale]))}`,
    told(WORDS.alreadyApproved[locale]) === 1,
    () => texts,
  );
}

async function theEnd(world: DemoWorld, asked: AskedPayment, teller: StoryTeller): Promise<void> {
  const run = await world.service.waitForRun(asked.run, 'finished');
  teller.check('the agent goes on and ends', run.status === 'succeeded', () => run);
  teller.tell(`agent: ${run.output ?? ''}`);
  teller.check('the payment was made exactly once', paid(world, '68000.00') === 1, () =>
    world.payments.ledger(),
  );
  const ended = () => bothCardsEndWith(world, asked, [WORDS.cardDone[world.locale], LI_WEI.name]);
  await waitUntil('both cards show that it was approved and done', ended);
  teller.check('both cards say: approved by 李伟, done', ended());
  const notes = await waitUntil('a note stands under each card', () => {
    const { feishu, slack } = notesUnder(world, asked);
    return feishu.length > 0 && slack.length > 0 && { feishu, slack };
  });
  teller.check(
    `a note under each card says so: ${notes.slack[0]}`,
    [...notes.feishu, ...notes.slack].length === 2 &&
      [...notes.feishu, ...notes.slack].every((note) => note.includes(WORDS.noteDone[world.locale])),
    () => notes,
  );
}

async function lateTapsAndReplays(world: DemoWorld, asked: AskedPayment, teller: StoryTeller): Promise<void> {
  const toldWang = await tapInSlack(world, asked, WANG_FANG, 'approve');
  teller.check(
    `王芳, whose Slack still shows the old card, taps Approve and is told: ${toldWang}`,
    toldWang.includes(WORDS.alreadyDecided[world.locale]),
  );
  // The record lists an event a moment after it was written.
  await waitUntil('the record holds the payment', async () => (await effects(world, asked)) === ONCE);
  const feishu = await world.feishu.replay();
  const slack = await world.slack.replay();
  const ended = await world.service.run(asked.run);
  teller.check(
    "李伟's and 王芳's callbacks are sent again, byte for byte: answered, and nothing happens a second time",
    'status' in feishu &&
      slack.status === 200 &&
      ended.status === 'succeeded' &&
      (await effects(world, asked)) === ONCE,
    () => ({ feishu, slack: slack.status }),
  );
}

/** One vote, one decision, one grant used, one tool run; and in the ledger this payment beside the small one. */
const ONCE = '1,1,1,1,2';

/** Everything that must not happen twice, counted. */
async function effects(world: DemoWorld, { confirmation }: AskedPayment): Promise<string> {
  const events = await world.service.auditEvents();
  const ofRequest = events.filter((event) => event.confirmation === confirmation);
  const count = (kind: string) => ofRequest.filter((event) => event.kind === kind).length;
  return [
    ...['vote.cast', 'confirmation.decided', 'grant.claimed', 'tool.executed'].map(count),
    world.payments.ledger().payments.length,
  ].join();
}

const paid = (world: DemoWorld, amount: string): number =>
  world.payments.ledger().payments.filter((payment) => payment.amount === amount).length;

/** The header's tag, which holds the verification code. */
const textTag = (card: string): string => /"text_tag_list":\[.*?\]/.exec(card)?.[0] ?? '';
