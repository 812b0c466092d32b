import type { Page } from 'playwright-core';
import { CARD_TEXTS } from '../../src/confirmation/card-texts.ts';
import { LI_WEI, WANG_FANG } from '../../src/demo/cast.ts';
import type { DemoWorld } from '../../src/demo/demo-world.ts';
import { ask, keyOf, loseOutcome } from './picture-requests.ts';

export interface PagePicture {
  readonly name: string;
  readonly png: Buffer;
}

/** A phone's. */
export const PAGE_WIDTH = 390;
const SHOWN_HEIGHT = 1_350;

/** The page that cards link to, as a phone shows it: signing in, and one payment as it waits, as approved, as unknown. */
export async function takeConsolePictures(input: {
  readonly page: Page;
  readonly world: DemoWorld;
}): Promise<readonly PagePicture[]> {
  const { page, world } = input;
  const texts = CARD_TEXTS[world.locale];
  const pictures: PagePicture[] = [];
  await page.setViewportSize({ width: PAGE_WIDTH, height: 400 });
  const asked = await ask(world);
  const show = async (state: string) => {
    await page.goto(`${world.serviceUrl}/requests/${asked.id}?lang=${world.locale}`);
    const whole = Number(await page.evaluate('document.documentElement.scrollHeight'));
    const clip = { x: 0, y: 0, width: PAGE_WIDTH, height: Math.min(whole, SHOWN_HEIGHT) };
    const name = whole > SHOWN_HEIGHT ? `${state} (deliveries and record follow)` : state;
    pictures.push({ name, png: await page.screenshot({ fullPage: true, clip }) });
  };

  await show('signing in');
  await page.fill('#key', keyOf(world, LI_WEI.id));
  await page.click('main button');
  await page.waitForSelector('h1.pending');
  await show('pending');
  await asked.cards.tapInFeishu(LI_WEI, 'approve');
  await asked.cards.tapInSlack(WANG_FANG, 'approve');
  await asked.cards.holding(texts.states.approved);
  await show('approved');
  await loseOutcome(world, asked);
  await asked.cards.holding(texts.states.unknown);
  await show('unknown');
  await page.context().clearCookies();
  return pictures;
}
