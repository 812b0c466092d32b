import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import chromium from '@sparticuz/chromium';
import { type Browser, type Page, chromium as playwright } from 'playwright-core';
import { packageRoot } from '../../src/package-root.ts';
import { CHAT_FOLDER } from '../../src/standin/page/page-app.ts';

/** Nothing listens there: every file of the page is handed to the browser by `servePictureFiles`. */
export const PICTURE_ORIGIN = 'http://pictures.invalid';

/** Throws where the machine lacks what the pictures need. */
export async function launchPictureBrowser(): Promise<Browser> {
  await needFonts();
  const executablePath = await chromium.executablePath();
  return playwright.launch({ executablePath, args: [...chromium.args, '--no-sandbox'] });
}

/** Without them a picture would show boxes in the place of names and icons. */
async function needFonts(): Promise<void> {
  const found = async (pattern: string) =>
    promisify(execFile)('fc-list', [pattern]).then(
      ({ stdout }) => stdout.trim() !== '',
      () => false,
    );
  if (!(await found(':lang=zh-cn')))
    throw new Error('No font with Chinese characters; install one, such as the package fonts-noto-cjk.');
  if (!(await found(':lang=und-zsye')))
    throw new Error('No font with emoji; install one, such as the package fonts-noto-color-emoji.');
}

const FILE = /^\/(chat\/)?([a-z-]+\.(?:html|css|js|svg))$/;
const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};

/** The sheet's own files, and below `/chat/` those with which pages draw the chats. */
export async function servePictureFiles(page: Page): Promise<void> {
  await page.route('**/*', async (route) => {
    const { origin, pathname } = new URL(route.request().url());
    const [, chat, name = ''] = FILE.exec(pathname) ?? [];
    if (origin !== PICTURE_ORIGIN || name === '') return route.abort();
    const folder = chat === undefined ? 'scripts/pictures' : CHAT_FOLDER;
    const body = await readFile(join(packageRoot, folder, name));
    await route.fulfill({ body, contentType: TYPES[name.split('.').at(-1) ?? ''] ?? 'text/plain' });
  });
}
