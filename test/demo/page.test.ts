import chromium from '@sparticuz/chromium';
import { type Browser, type Page, chromium as playwright } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../support/until.ts';
import { type DemoProcess, startDemoProcess } from './demo-process.ts';

const HOSTILE = '<img src=x onerror="window.wasRun = true"> & <script>window.wasRun = true</script>';
const INSTRUCTION = `Pay Acme Paper 68,000.00 CNY ${HOSTILE}`;

/** A real browser, the real service behind the page. The steps build on each other. */
describe('the page of the demo', () => {
  let demo: DemoProcess;
  let browser: Browser;
  let page: Page;
  let url: string;
  const faults: string[] = [];

  beforeAll(async () => {
    demo = await startDemoProcess(['--port', '0']);
    const [executablePath] = await Promise.all([chromium.executablePath()]);
    browser = await playwright.launch({ executablePath, args: [...chromium.args, '--no-sandbox'] });
    url = await until(() => /http:\/\/127\.0\.0\.1:\d+\//.exec(demo.output())?.[0], {
      deadlineMs: 60_000,
      what: 'the demo prints its address',
    });
    page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    page.setDefaultTimeout(20_000);
    page.on('pageerror', (error) => faults.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error') faults.push(message.text());
    });
    await page.goto(url);
    await page.waitForSelector('[data-preset="large"]');
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await demo.cleanUp();
  });

  it('shows a payment that waits, with a card in both chats, and hostile text as text', async () => {
    await page.fill('#ask-text', INSTRUCTION);
    await page.click('#ask button[type="submit"]');
    await page.waitForSelector('.call[data-status="waiting"]');
    await page.waitForSelector('.fs-card .fs-button[data-type="primary_filled"]');
    await page.waitForSelector('.sl-message .sl-button[data-style="primary"]');
    for (const panel of ['#transcript', '#feishu', '#slack']) {
      expect(await page.textContent(panel)).toContain(HOSTILE);
    }
    expect(await page.locator('img').count()).toBe(0);
    expect(await page.evaluate('window.wasRun')).toBeUndefined();
    expect(await page.locator('.payment').count()).toBe(0);
  });

  it('tells somebody who is no approver so, in both chats', async () => {
    await page.click('[data-person="chen.jie"]');
    await page.click('.fs-button[data-type="primary_filled"]');
    await page.waitForSelector('#feishu-toast:has-text("not an approver")');
    await page.click('.sl-button[data-style="primary"]');
    await page.waitForSelector('.sl-message.whisper:has-text("not an approver")');
    await page.click('[data-person="li.wei"]');
    expect(await page.locator('.sl-message.whisper').count()).toBe(0);
    expect(await page.locator('.payment').count()).toBe(0);
  });

  it('opens and closes the modal that asks for a reason', async () => {
    await page.click('.sl-button[data-style="danger"]');
    await page.waitForSelector('.sl-modal:has-text("68000.00")');
    await page.click('.sl-modal button[type="button"]');
    await page.waitForSelector('.sl-modal', { state: 'detached' });
    expect(await page.locator('.call[data-status="waiting"]').count()).toBe(1);
  });

  it('pays once 李伟 approves in Feishu, closes both cards, and shows it on the record', async () => {
    await page.click('.fs-button[data-type="primary_filled"]');
    await page.waitForSelector('.payment:has-text("68,000.00 CNY")');
    await page.waitForSelector('.fs-header[data-template="green"]:has-text("Approved and done")');
    await page.waitForSelector('.sl-header:has-text("Approved and done")');
    await page.waitForSelector('.said.answer:has-text("was paid")');
    expect(await page.locator('.fs-button, button.sl-button').count()).toBe(0);
    expect(await page.locator('.payment').count()).toBe(1);
    await page.waitForSelector('.event[data-kind="confirmation.decided"]:has-text("李伟")');
    await page.waitForSelector('#chain[data-state="good"]');
  });

  it('reads in both languages, and fits a phone', async () => {
    await page.click('#language');
    expect(await page.textContent('#ledger-title')).toBe('账本');
    await page.setViewportSize({ width: 375, height: 800 });
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(375);
  });

  it('prints what an agent outside needs to ask, and shows its card', async () => {
    const printed = Object.fromEntries(
      [...demo.output().matchAll(/^export (\w+)=(\S+)$/gm)].map(([, name, value]) => [name, value]),
    );
    expect(Object.keys(printed)).toEqual(['GATE', 'PROCUREMENT_KEY', 'LIWEI_KEY']);
    const response = await fetch(`${printed.GATE}/v1/confirmations`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${printed.PROCUREMENT_KEY}` },
      body: JSON.stringify({
        tool: 'bank__transfer',
        agent: 'procurement',
        args: { payee: 'Acme', amount: '68000.00', currency: 'CNY' },
      }),
    });
    expect(await response.json()).toMatchObject({ decision: 'pending' });
    await page.waitForSelector('#feishu .fs-card:has-text("bank__transfer")');
  });

  it('takes no orders from another site', async () => {
    const response = await fetch(new URL('/ask', url), {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: 'https://elsewhere.example' },
      body: JSON.stringify({ text: INSTRUCTION }),
    });
    expect(response.status).toBe(403);
  });

  it('had no fault in the browser, and stops with everything removed', async () => {
    expect(faults).toEqual([]);
    await page.close();
    demo.interrupt();
    expect(await demo.exited).toBe(0);
    expect(await demo.leftovers()).toEqual([]);
  });
});
