import type { DemoWorld } from '../demo-world.ts';
import type { StoryTeller } from './story-teller.ts';

export const SMALL_PAYMENT = 'Pay Acme Paper 800.00 CNY for order PO-1007';

/** A payment under the limit runs at once, and nobody is asked. */
export async function playSmallPayment(world: DemoWorld, teller: StoryTeller): Promise<void> {
  teller.tell(`赵敏 asks the agent: "${SMALL_PAYMENT}"`);
  const { id } = await world.service.startRun(SMALL_PAYMENT);
  const run = await world.service.waitForRun(id, 'finished');
  teller.check(
    'the agent reads the order and pays without asking anybody',
    run.status === 'succeeded',
    () => run,
  );
  teller.check(
    'no card was sent to anybody',
    world.slack.messages().length === 0 && world.feishu.messages().length === 0,
  );
  const { payments } = world.payments.ledger();
  teller.check('the ledger holds one payment of 800.00', payments[0]?.amount === '800.00', () => payments);
  teller.tell(`agent: ${run.output ?? ''}`);
}
