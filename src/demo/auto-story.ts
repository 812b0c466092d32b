import type { DemoWorld } from './demo-world.ts';
import { playApproval } from './story/approval.ts';
import { playExpiry } from './story/expiry.ts';
import { playFinalCheck } from './story/final-check.ts';
import { playRejection } from './story/rejection.ts';
import { playSmallPayment } from './story/small-payment.ts';
import { StoryTeller } from './story/story-teller.ts';

const CHAPTERS: readonly {
  readonly title: string;
  readonly play: (world: DemoWorld, teller: StoryTeller) => Promise<void>;
}[] = [
  { title: '1. A small payment', play: playSmallPayment },
  { title: '2. A large payment, approved', play: playApproval },
  { title: '3. A large payment, rejected', play: playRejection },
  { title: '4. A payment nobody decides about', play: playExpiry },
  { title: '5. What is left', play: playFinalCheck },
];

/** Plays every chapter, also after one that broke off. Returns 0 only when each check came out right, else 1. */
export async function playAutoStory(input: {
  readonly world: DemoWorld;
  readonly interrupted: AbortSignal;
  /** Takes one line of the story. */
  readonly print: (line: string) => void;
}): Promise<number> {
  const { world, interrupted, print } = input;
  const startedAt = performance.now();
  const teller = new StoryTeller(print);
  for (const { title, play } of CHAPTERS) {
    if (interrupted.aborted) return 1;
    teller.chapter(title);
    try {
      await play(world, teller);
    } catch (error) {
      teller.brokenOff(error);
    }
  }
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  print(`\n${teller.passed} checks right, ${teller.failed} wrong, in ${seconds} s`);
  return teller.failed === 0 ? 0 : 1;
}
