import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { type DemoWorld, startDemoWorld } from '../../src/demo/demo-world.ts';
import { LOCALES, type Locale } from '../../src/locale.ts';
import { packageRoot } from '../../src/package-root.ts';
import { PAGE_WIDTH, type PagePicture, takeConsolePictures } from './console-pictures.ts';
import { takeDemoPictures } from './demo-pictures.ts';
import { MOMENT_POLICIES, playMoments } from './moments.ts';
import { playNotices } from './notices.ts';
import { launchPictureBrowser, PICTURE_ORIGIN, servePictureFiles } from './picture-browser.ts';
import type { Scene } from './scene.ts';
import { PICTURE_POLICIES, playScenes } from './scenes.ts';
import { smallerPng } from './smaller-png.ts';

/** Four cards side by side (`sheet.css`). */
const SHEET_WIDTH = 1650;

/**
 * Brings real requests through the real service and takes pictures of what people see, as the stand-ins of both chats
 * draw it: for each platform and language one sheet of a card's states and one of what else people are asked, shown and
 * told; the request page on a phone; the demo's page. In `docs/images/`, or the folder that is named.
 */
async function takePictures(folder: string, colorScheme: 'light' | 'dark'): Promise<void> {
  const browser = await launchPictureBrowser();
  try {
    await mkdir(folder, { recursive: true });
    // One page for all: this browser is one process, which ends with its page.
    const viewport = { width: SHEET_WIDTH, height: 900 };
    const page = await browser.newPage({ viewport, deviceScaleFactor: 1.1, colorScheme });
    const take = async (path: string) => {
      await writeFile(path, smallerPng(await page.screenshot({ fullPage: true })));
      console.log(path);
    };
    await takeDemoPictures({ page, folder, take });
    for (const locale of LOCALES) {
      const states = await played({ locale, policies: PICTURE_POLICIES }, playScenes);
      const moments = await played({ locale, policies: MOMENT_POLICIES }, async (world) => ({
        scenes: [...(await playMoments(world)), await playNotices(world)],
        pages: await takeConsolePictures({ page, world }),
      }));
      await page.setViewportSize(viewport);
      await servePictureFiles(page);
      for (const platform of ['feishu', 'slack'] as const) {
        await drawSheet({ page, platform, locale, scenes: states });
        await take(join(folder, `cards-${platform}.${locale}.png`));
        await drawSheet({ page, platform, locale, scenes: moments.scenes });
        await take(join(folder, `moments-${platform}.${locale}.png`));
      }
      await drawPages(page, moments.pages);
      await take(join(folder, `request-page.${locale}.png`));
      await page.unroute('**/*');
    }
  } finally {
    await browser.close();
  }
}

async function played<Played>(
  input: { readonly locale: Locale; readonly policies: string },
  play: (world: DemoWorld) => Promise<Played>,
): Promise<Played> {
  const world = await startDemoWorld({ ...input, hastyDeadline: '5s', realModel: null });
  return play(world).finally(() => world.stop());
}

async function openSheet(page: Page): Promise<void> {
  await page.goto(`${PICTURE_ORIGIN}/sheet.html`);
  await page.waitForFunction('typeof window.drawSheet === "function"');
}

async function drawSheet(input: {
  readonly page: Page;
  readonly platform: 'feishu' | 'slack';
  readonly locale: Locale;
  readonly scenes: readonly Scene[];
}): Promise<void> {
  const { page, ...sheet } = input;
  await openSheet(page);
  await page.evaluate(`window.drawSheet(${JSON.stringify(sheet)})`);
}

async function drawPages(page: Page, pages: readonly PagePicture[]): Promise<void> {
  await openSheet(page);
  const shown = pages.map(({ name, png }) => ({
    name,
    url: `data:image/png;base64,${png.toString('base64')}`,
    width: PAGE_WIDTH,
  }));
  await page.evaluate(`window.drawPages(${JSON.stringify(shown)})`);
  await page.waitForFunction('[...document.images].every(({ complete }) => complete)');
}

const [folder = join(packageRoot, 'docs/images'), scheme] = process.argv.slice(2);
await takePictures(folder, scheme === 'dark' ? 'dark' : 'light');
