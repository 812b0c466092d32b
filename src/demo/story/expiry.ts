import { HASTY_PAYEE, LI_WEI } from '../cast.ts';
import type { DemoWorld } from '../demo-world.ts';
import { waitUntil } from '../wait-until.ts';
import { askForPayment, bothCardsEndWith } from './asked-payment.ts';
import type { StoryTeller } from './story-teller.ts';
import { WORDS } from './story-words.ts';
import { tapInSlack } from './taps.ts';

const INSTRUCTION = `Pay ${HASTY_PAYEE} 75,000.00 CNY for order PO-1044`;

/** Nobody decides in the seconds that the policy gives; a tap afterwards changes nothing. */
export async function playExpiry(world: DemoWorld, teller: StoryTeller): Promise<void> {
  teller.tell(`赵敏 asks the agent: "${INSTRUCTION}"`);
  const asked = await askForPayment(world, INSTRUCTION);
  teller.tell('nobody decides …');
  const run = await world.service.waitForRun(asked.run, 'finished');
  teller.check(
    'the request expires, and the agent is told',
    run.output?.includes('nobody decided') ?? false,
    () => run,
  );
  teller.tell(`agent: ${run.output ?? ''}`);
  const ended = () => bothCardsEndWith(world, asked, [WORDS.cardExpired[world.locale]]);
  await waitUntil('both cards show that it expired', ended);
  teller.check('both cards say: expired', ended());
  const told = await tapInSlack(world, asked, LI_WEI, 'approve');
  teller.check(
    `李伟 taps Approve too late and is told: ${told}`,
    told.includes(WORDS.expiredForYou[world.locale]),
  );
}
