import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { WANG_FANG } from '../../src/demo/cast.ts';
import { startDemoWorld } from '../../src/demo/demo-world.ts';
import { LOCALES, type Locale } from '../../src/locale.ts';
import { packageRoot } from '../../src/package-root.ts';
import { takeDemoPictures } from './demo-pictures.ts';
import { launchPictureBrowser, PICTURE_ORIGIN, servePictureFiles } from './picture-browser.ts';
import { PICTURE_POLICIES, playScenes, type Scene } from './scenes.ts';
import { smallerPng } from './smaller-png.ts';

/** Four cards side by side (`sheet.css`). */
const SHEET_WIDTH = 1650;

/**
 * Brings real requests through the real service into every state and takes pictures of the cards as the stand-ins of
 * both chats draw them: one sheet for each platform and language, in `docs/images/` or the folder that is named. The
 * demo's page comes with them.
 */
async function takePictures(folder: string, colorScheme: 'light' | 'dark'): Promise<void> {
  const browser = await launchPictureBrowser();
  try {
    await mkdir(folder, { recursive: true });
    // One page for all: this browser is one process, which ends with its page.
    const viewport = { width: SHEET_WIDTH, height: 900 };
    const page = await browser.newPage({ viewport, deviceScaleFactor: 1.5, colorScheme });
    const take = async (path: string) => {
      await writeFile(path, smallerPng(await page.screenshot({ fullPage: true })));
      console.log(path);
    };
    await takeDemoPictures({ page, folder, take });
    await servePictureFiles(page);
    for (const locale of LOCALES) {
      const world = await startDemoWorld({
        locale,
        hastyDeadline: '5s',
        realModel: null,
        policies: PICTURE_POLICIES,
      });
      const scenes = await playScenes(world).finally(() => world.stop());
      for (const platform of ['feishu', 'slack'] as const) {
        const path = join(folder, `cards-${platform}.${locale}.png`);
        await drawSheet({ page, platform, locale, scenes });
        await take(path);
      }
    }
  } finally {
    await browser.close();
  }
}

async function drawSheet(input: {
  readonly page: Page;
  readonly platform: 'feishu' | 'slack';
  readonly locale: Locale;
  readonly scenes: readonly Scene[];
}): Promise<void> {
  const { page, ...sheet } = input;
  await page.goto(`${PICTURE_ORIGIN}/sheet.html`);
  await page.waitForFunction('typeof window.drawSheet === "function"');
  await page.evaluate(`window.drawSheet(${JSON.stringify({ ...sheet, person: WANG_FANG })})`);
}

const [folder = join(packageRoot, 'docs/images'), scheme] = process.argv.slice(2);
await takePictures(folder, scheme === 'dark' ? 'dark' : 'light');
