import { WANG_FANG } from '../cast.ts';
import type { DemoWorld } from '../demo-world.ts';
import { waitUntil } from '../wait-until.ts';
import { askForPayment, bothCardsEndWith } from './asked-payment.ts';
import type { StoryTeller } from './story-teller.ts';
import { WORDS } from './story-words.ts';

const INSTRUCTION = 'Pay Acme Paper 120,000.00 CNY for order PO-1043';
const REASON = 'The contract says 60,000.00, ask for a new invoice';

/** A rejection in Slack, whose modal asks for the reason; the reason reaches the agent and both cards. */
export async function playRejection(world: DemoWorld, teller: StoryTeller): Promise<void> {
  teller.tell(`赵敏 asks the agent: "${INSTRUCTION}"`);
  const asked = await askForPayment(world, INSTRUCTION);
  const user = WANG_FANG.slackUser;
  await world.slack.tap({ user, ts: asked.slackTs, actionId: 'countersign.reject' });
  const modal = await waitUntil('Slack opens the modal', () => world.slack.modalOf(user));
  teller.check(
    '王芳 taps Reject in Slack, and a modal asks her why, with what it is about',
    JSON.stringify(modal.view).includes('120000.00'),
    () => modal.view,
  );
  teller.check('the tap alone decided nothing', (await world.service.run(asked.run)).status === 'waiting');
  await world.slack.submitModal({ user, reason: REASON });
  teller.tell(`王芳 writes: "${REASON}"`);
  const run = await world.service.waitForRun(asked.run, 'finished');
  teller.check(
    'the agent learns the reason and does not pay',
    run.output?.includes(REASON) ?? false,
    () => run,
  );
  teller.tell(`agent: ${run.output ?? ''}`);
  const words = [WORDS.cardRejected[world.locale], WANG_FANG.name, REASON];
  const ended = () => bothCardsEndWith(world, asked, words);
  await waitUntil('both cards show the rejection', ended);
  teller.check('both cards say: rejected by 王芳, and why', ended());
}
