import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { startDemoWorld } from '../../src/demo/demo-world.ts';
import { startDemoPage } from '../../src/demo/page-server.ts';

/** The page of `countersign demo` with a payment that waits, and with the same one once 李伟 approved it in Feishu. */
export async function takeDemoPictures(input: {
  readonly page: Page;
  readonly folder: string;
  readonly take: (path: string) => Promise<void>;
}): Promise<void> {
  const { page, folder, take } = input;
  const world = await startDemoWorld({ locale: 'en-US', hastyDeadline: '30s', realModel: null });
  const demo = await startDemoPage({ world, port: 0, model: null });
  try {
    await page.goto(demo.url);
    await page.click('[data-preset="large"]');
    await page.waitForSelector('.fs-button[data-type="primary_filled"]');
    await page.waitForSelector('.sl-button[data-style="primary"]');
    await page.waitForSelector('.event[data-kind="card.delivered"]');
    await take(join(folder, 'demo-pending.png'));
    await page.click('.fs-button[data-type="primary_filled"]');
    await page.waitForSelector('.fs-header[data-template="green"]');
    await page.waitForSelector('.sl-header:has-text("Approved and done")');
    await page.waitForSelector('.event[data-kind="run.finished"]');
    await take(join(folder, 'demo-approved.png'));
    // Its stream of changes would keep the page's server from stopping.
    await page.goto('about:blank');
  } finally {
    await demo.stop();
    await world.stop();
  }
}
