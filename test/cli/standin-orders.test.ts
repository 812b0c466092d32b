import { request } from 'node:http';
import { PassThrough } from 'node:stream';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { standin } from '../../src/cli/standin.ts';
import { until } from '../support/until.ts';

/** One platform as the command plays it; the lines are typed into its standard input. */
function played(platform: 'slack' | 'feishu') {
  const lines: string[] = [];
  vi.spyOn(console, 'log').mockImplementation((line: string) => void lines.push(line));
  const input = new PassThrough();
  vi.spyOn(process, 'stdin', 'get').mockReturnValue(input as unknown as typeof process.stdin);
  const ended = standin({ platform, port: 0, service: 'http://127.0.0.1:1', minutes: 1 });
  const output = () => lines.join('\n');
  const printed = (pattern: RegExp) => until(() => pattern.exec(output())?.[1], { what: String(pattern) });
  return {
    api: () => printed(/(?:apiUrl|domain): "([^"]+)"/),
    page: () => printed(/^Open (\S+) to see the chat\.$/m),
    printed,
    type: (line: string) => input.write(`${line}\n`),
    async end() {
      input.end();
      return ended;
    },
  };
}

const POST = { text: 'Pay', channel: 'C0STANDIN' };

describe('a stand-in that is told what goes wrong next', () => {
  afterEach(() => vi.restoreAllMocks());

  it('answers one call each as it was told, the oldest that fits first', async () => {
    const slack = played('slack');
    const api = await slack.api();
    const post = (signal?: AbortSignal) =>
      fetch(`${api}chat.postMessage`, {
        method: 'POST',
        headers: { authorization: 'Bearer xoxb-standin' },
        body: new URLSearchParams(POST),
        ...(signal && { signal }),
      });
    slack.type('fault bad-token chat.update');
    for (const kind of ['429', '500', 'bad-token', 'no-answer']) slack.type(`fault ${kind}`);
    await slack.printed(/(The next call meets no-answer)/);
    const busy = await post();
    expect([busy.status, busy.headers.get('retry-after')]).toEqual([429, '5']);
    expect((await post()).status).toBe(500);
    expect(await (await post()).json()).toMatchObject({ ok: false, error: 'invalid_auth' });
    const hangingUp = new AbortController();
    const unanswered = post(hangingUp.signal);
    await slack.printed(/(1\. \[C0STANDIN\] Pay)/);
    hangingUp.abort();
    await expect(unanswered).rejects.toThrow(/abort/);
    expect(await (await post()).json()).toMatchObject({ ok: true });
    await slack.printed(/(chat\.postMessage met no-answer)/);
    slack.type('fault 418');
    await slack.printed(/(There is no fault 418; there are: 429, 500, no-answer, bad-token)/);
    slack.type('fault 429 chat.scream');
    await slack.printed(/(There is no call chat\.scream; there are: auth\.test)/);
    expect(await slack.end()).toBe(0);
  });

  it('speaks as the open platform where it plays Feishu', async () => {
    const feishu = played('feishu');
    const api = await feishu.api();
    const member = () => fetch(`${api}/open-apis/contact/v3/users/ou_liwei`);
    const token = () =>
      fetch(`${api}/open-apis/auth/v3/tenant_access_token/internal`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{}',
      });
    for (const line of ['429', '500', 'bad-token', 'bad-token token']) feishu.type(`fault ${line}`);
    await feishu.printed(/(The next token meets bad-token)/);
    const busy = await member();
    expect([busy.status, busy.headers.get('x-ogw-ratelimit-reset')]).toEqual([429, '5']);
    expect((await member()).status).toBe(500);
    expect(await (await member()).json()).toMatchObject({ code: 99991663 });
    expect(await (await token()).json()).toMatchObject({ code: 10014 });
    expect(await feishu.end()).toBe(0);
  });

  it('shows its page to this machine alone, and runs no script but its own', async () => {
    const slack = played('slack');
    const page = await slack.page();
    const shown = await fetch(page);
    expect(shown.headers.get('content-security-policy')).toContain("default-src 'self'");
    expect(await shown.text()).not.toMatch(/<script(?! type="module" src="\/)|\son\w+=|style=/);
    const refused = (headers: Record<string, string>) =>
      new Promise((resolve, reject) => {
        request(`${page}fault`, { method: 'POST', headers }, (response) => {
          response.resume();
          resolve(response.statusCode);
        })
          .once('error', reject)
          .end();
      });
    expect(await refused({ host: 'rebound.example' })).toBe(403);
    expect(await refused({ origin: 'https://elsewhere.example' })).toBe(403);
    expect(await refused({ 'content-type': 'application/json' })).not.toBe(403);
    expect(await slack.end()).toBe(0);
    await expect(fetch(page)).rejects.toThrow();
  });
});
