import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createOpenAiModel } from '../../src/agent/openai-model.ts';
import type { Clock } from '../../src/clock.ts';
import { systemClock } from '../../src/clock.ts';
import { ModelServer } from './model-server.ts';

describe('the model client', () => {
  const server = new ModelServer();
  const waits: number[] = [];
  const impatient: Clock = {
    ...systemClock,
    setTimer: (delayMs, run) => {
      waits.push(delayMs);
      return systemClock.setTimer(0, run);
    },
  };
  let baseUrl: string;

  beforeAll(async () => {
    baseUrl = await server.start();
  });
  afterAll(() => server.stop());
  beforeEach(() => {
    server.requests.length = 0;
    waits.length = 0;
  });

  const ask = (options: { readonly baseUrl?: string; readonly signal?: AbortSignal } = {}) =>
    createOpenAiModel(
      { baseUrl: options.baseUrl ?? baseUrl, apiKey: 'sk-secret-of-the-tests', model: 'm' },
      impatient,
    ).complete({
      messages: [{ role: 'user', content: 'Hello.' }],
      tools: [],
      signal: options.signal ?? new AbortController().signal,
    });

  it('takes an answer as it comes', async () => {
    server.script('m', [{ text: 'Hello too.' }]);
    expect(await ask()).toEqual({ kind: 'answered', text: 'Hello too.', toolCalls: [] });
    expect(server.requests).toEqual([{ model: 'm', messages: [{ role: 'user', content: 'Hello.' }] }]);
  });

  it.each([
    ['429, as soon as the server says', { status: 429, headers: { 'retry-after': '3' } }],
    ['5xx', { status: 503 }],
    ['an answer that breaks off', { breakOff: true } as const],
  ])('tries again after %s', async (_what, turn) => {
    server.script('m', [turn, turn, { text: 'At last.' }]);
    expect(await ask()).toMatchObject({ text: 'At last.' });
    expect(server.requests.length).toBe(3);
    expect(waits.length).toBe(2);
    if ('status' in turn && turn.status === 429) expect(waits).toEqual([3_000, 3_000]);
    else expect(waits[1]).toBeGreaterThan(400);
  });

  it('tries three times and no more, and names neither the key nor what the server said', async () => {
    server.script('m', [{ status: 500 }, { status: 500 }, { status: 500 }, { text: 'too late' }]);
    const answer = await ask();
    expect(answer).toEqual({
      kind: 'failed',
      message: 'The model answered with status 500 (attempt 3 of 3).',
    });
    expect(server.requests.length).toBe(3);
  });

  it.each([401, 404, 302])('does not try again after %i', async (status) => {
    server.script('m', [{ status, headers: { location: '/elsewhere' } }, { text: 'not asked' }]);
    const answer = await ask();
    expect(answer).toMatchObject({ kind: 'failed', message: expect.stringContaining(`status ${status}`) });
    expect(JSON.stringify(answer)).not.toContain('secret');
    expect(server.requests.length).toBe(1);
  });

  it('fails in words where nobody listens', async () => {
    expect(await ask({ baseUrl: 'http://127.0.0.1:9/v1' })).toMatchObject({
      kind: 'failed',
      message: expect.stringContaining('connection to the model broke'),
    });
  });

  it.each([[{}], [{ choices: [] }], [{ choices: [{}] }], ['nonsense'], [{ error: { message: 'x' } }]])(
    'fails in words on an answer without a message: %j',
    async (raw) => {
      server.script('m', [{ raw }, { raw }, { raw }]);
      expect(await ask()).toMatchObject({ kind: 'failed' });
    },
  );

  it('hands nonsense in a tool call on to the loop, which answers it', async () => {
    server.script('m', [
      {
        raw: {
          choices: [
            {
              message: { content: 7, tool_calls: [null, {}, { id: '', function: { arguments: { a: 1 } } }] },
            },
          ],
        },
      },
    ]);
    expect(await ask()).toEqual({
      kind: 'answered',
      text: null,
      toolCalls: [
        { id: null, name: '', arguments: '' },
        { id: null, name: '', arguments: '' },
        { id: null, name: '', arguments: '{"a":1}' },
      ],
    });
  });

  it('stops at once when it is told to', async () => {
    const stop = new AbortController();
    server.script('m', [
      () => {
        stop.abort(new Error('enough'));
        return { status: 503 };
      },
    ]);
    await expect(ask({ signal: stop.signal })).rejects.toThrow('enough');
    expect(server.requests.length).toBe(1);
  });
});
