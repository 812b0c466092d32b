import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  LONGEST_ANSWER_MS,
  LONGEST_REMAINDER_MS,
  LONGEST_SILENCE_MS,
} from '../../src/agent/answer-patience.ts';
import { createOpenAiModel } from '../../src/agent/openai-model.ts';
import type { Clock } from '../../src/clock.ts';
import { systemClock } from '../../src/clock.ts';
import { ModelServer } from './model-server.ts';

describe('the model client', () => {
  const server = new ModelServer();
  const waits: number[] = [];
  const heard: string[] = [];
  let timeUp = () => {};
  const impatient: Clock = {
    ...systemClock,
    setTimer: (delayMs, run) => {
      // The time of an answer is not waited for, it is what a test lets pass.
      if (delayMs === LONGEST_ANSWER_MS || delayMs === LONGEST_REMAINDER_MS) return () => {};
      if (delayMs === LONGEST_SILENCE_MS) {
        timeUp = run;
        return () => {};
      }
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
    heard.length = 0;
  });

  const ask = (
    options: { readonly baseUrl?: string; readonly stream?: boolean; readonly signal?: AbortSignal } = {},
  ) =>
    createOpenAiModel(
      {
        baseUrl: options.baseUrl ?? baseUrl,
        apiKey: 'sk-secret-of-the-tests',
        model: 'm',
        stream: options.stream ?? true,
      },
      impatient,
    ).complete({
      messages: [{ role: 'user', content: 'Hello.' }],
      tools: [],
      signal: options.signal ?? new AbortController().signal,
      onText: (text) => heard.push(text),
    });

  it('takes an answer as it comes', async () => {
    server.script('m', [{ text: 'Hello too.' }]);
    expect(await ask()).toEqual({
      kind: 'answered',
      text: 'Hello too.',
      toolCalls: [],
      tokens: expect.any(Number),
      cut: null,
    });
    expect(server.requests).toEqual([
      {
        model: 'm',
        messages: [{ role: 'user', content: 'Hello.' }],
        stream: true,
        stream_options: { include_usage: true },
      },
    ]);
    expect(heard).toEqual(['Hello', 'Hello too.']);
  });

  it('asks without streaming where the configuration says so', async () => {
    server.script('m', [{ text: 'Hello too.' }]);
    expect(await ask({ stream: false })).toMatchObject({ text: 'Hello too.' });
    expect(server.requests).toEqual([{ model: 'm', messages: [{ role: 'user', content: 'Hello.' }] }]);
    expect(heard).toEqual([]);
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
      tokens: expect.any(Number),
      cut: null,
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

  it.each([
    ['a page', { body: '<html>busy</html>', contentType: 'text/html' }],
    ['half a JSON', { body: '{"choices":[{"mess', contentType: 'application/json' }],
    ['nothing', { body: '', contentType: 'application/json' }],
    ['no choices', { raw: { choices: [] } }],
  ])('asks again, with back-off, where %s came for an answer', async (_what, turn) => {
    server.script('m', [turn, turn, { text: 'At last.' }]);
    expect(await ask()).toMatchObject({ text: 'At last.' });
    expect(waits.length).toBe(2);
  });

  it('gives up on an answer that does not come, or stops in the middle', async () => {
    for (const turn of [{ silent: true } as const, { stall: true } as const]) {
      const late = () => {
        setTimeout(() => timeUp(), 50);
        return turn;
      };
      server.script('m', [late, late, late]);
      expect(await ask()).toEqual({
        kind: 'failed',
        message: 'The model did not answer in time (attempt 3 of 3).',
      });
    }
  });

  it('does not read an answer without end', async () => {
    server.script('m', [{ body: `"${'x'.repeat(17 * 1024 * 1024)}"`, contentType: 'application/json' }]);
    expect(await ask()).toMatchObject({ kind: 'failed', message: expect.stringContaining('too long') });
    expect(server.requests.length).toBe(1);
  });

  it.each([
    [{ usage: { total_tokens: 42 } }, 42],
    [{ usage: { prompt_tokens: 40, completion_tokens: 5 } }, 45],
  ])('counts tokens as the provider does: %j', async (usage, tokens) => {
    server.script('m', [{ raw: { choices: [{ message: { content: 'Hi.' } }], ...usage } }]);
    expect(await ask()).toMatchObject({ tokens });
  });

  it.each([[{}], [{ usage: null }], [{ usage: { total_tokens: 'many' } }], [{ usage: { total_tokens: 0 } }]])(
    'estimates the tokens where it cannot count: %j',
    async (usage) => {
      server.script('m', [{ raw: { choices: [{ message: { content: 'x'.repeat(4_000) } }], ...usage } }]);
      const answer = await ask();
      if (answer.kind !== 'answered') throw new Error(answer.message);
      expect(answer.tokens).toBeGreaterThan(1_000);
      expect(answer.tokens).toBeLessThan(1_200);
    },
  );

  it.each([
    [[{ type: 'text', text: 'In ' }, { type: 'text', text: 'parts.' }, { type: 'image' }], null, 'In parts.'],
    [null, 'I will not.', 'I will not.'],
  ])('reads an answer in parts, and one that refuses: %j', async (content, refusal, text) => {
    server.script('m', [{ raw: { choices: [{ message: { content, refusal } }] } }]);
    expect(await ask()).toMatchObject({ text, toolCalls: [] });
  });
});
