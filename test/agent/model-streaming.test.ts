import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  LONGEST_ANSWER_MS,
  LONGEST_REMAINDER_MS,
  LONGEST_SILENCE_MS,
} from '../../src/agent/answer-patience.ts';
import { createOpenAiModel } from '../../src/agent/openai-model.ts';
import { type Clock, systemClock } from '../../src/clock.ts';
import { until } from '../support/until.ts';
import { ModelServer } from './model-server.ts';
import { callPiece, chunk, finish, liveTurn, type StreamPart, words } from './model-stream.ts';

describe('an answer that comes in pieces', () => {
  const server = new ModelServer();
  const heard: string[] = [];
  /** The timers that are set now, by how long they run; the test says when one of them is over. */
  const timers = new Map<number, () => void>();
  const clock: Clock = {
    ...systemClock,
    setTimer(delayMs, run) {
      if (![LONGEST_ANSWER_MS, LONGEST_SILENCE_MS, LONGEST_REMAINDER_MS].includes(delayMs)) {
        return systemClock.setTimer(0, run);
      }
      timers.set(delayMs, run);
      return () => {
        if (timers.get(delayMs) === run) timers.delete(delayMs);
      };
    },
  };
  let baseUrl: string;

  beforeAll(async () => {
    baseUrl = await server.start();
  });
  afterAll(() => server.stop());
  beforeEach(() => {
    server.requests.length = 0;
    heard.length = 0;
  });

  const ask = (signal = new AbortController().signal) =>
    createOpenAiModel(
      { baseUrl, apiKey: 'sk-secret-of-the-tests', model: 'm', stream: true },
      clock,
    ).complete({
      messages: [{ role: 'user', content: 'Pay.' }],
      tools: [],
      signal,
      onText: (text) => heard.push(text),
    });
  const answerTo = (...stream: StreamPart[]) => {
    server.script('m', [{ stream }]);
    return ask();
  };
  const call = (id: string | null, name: string, args: string) => ({ id, name, arguments: args });
  const PAY = { id: 'a', name: 'oa__pay', arguments: '{"amount":"1"}' };
  const LOG = { id: 'b', name: 'oa__log', arguments: '{}' };
  const event = (part: object) => `data: ${JSON.stringify(part)}\n\n`;
  /** Each holds a call that would be whole without what cannot be read, or cannot be meant. */
  const GARBLED: readonly [string, ...StreamPart[]][] = [
    ['nonsense in the place of a call', callPiece({ index: 0, ...PAY }), chunk({ tool_calls: [null, 7] })],
    ['a place that is none', chunk({ tool_calls: [{ index: -1, function: PAY }] })],
    [
      'calls that are no list',
      callPiece({ index: 0, name: 'oa__pay', arguments: '{"amount":"1' }),
      chunk({ tool_calls: { index: 0, function: { arguments: '000' } } }),
      callPiece({ index: 0, arguments: '"}' }),
    ],
    [
      'a piece that is no object',
      callPiece({ index: 0, name: 'oa__pay', arguments: '{"amount":"1' }),
      { choices: [{ index: 0, delta: '000' }] },
      callPiece({ index: 0, arguments: '"}' }),
    ],
    [
      'arguments that belong to no call',
      callPiece({ id: 'call_', name: 'oa__log', arguments: '' }),
      callPiece({ id: '1', arguments: '{"amount":"1"}' }),
    ],
    [
      'two calls in one place',
      callPiece({ index: 0, id: 'a', name: 'oa__pay', arguments: '{"a":' }),
      callPiece({ index: 0, id: 'b', name: 'oa__pay', arguments: '{"b":' }),
      callPiece({ index: 0, id: 'a', arguments: '1}' }),
      callPiece({ index: 0, id: 'b', arguments: '}' }),
    ],
  ];
  const bothCalls = { toolCalls: [call('a', 'oa__pay', '{"amount":"1"}'), call('b', 'oa__log', '{}')] };

  it.each<[string, StreamPart[], object]>([
    [
      'words, after a chunk that only says whose they are',
      [
        chunk({ role: 'assistant' }),
        chunk({ content: null }),
        words('It is '),
        words('paid.'),
        finish('stop'),
      ],
      { text: 'It is paid.', toolCalls: [], cut: null },
    ],
    [
      'an end that comes with the last words, and empty ones before',
      [chunk({ content: 'It is ' }, ''), chunk({ content: 'paid.' }, 'stop'), chunk({}, '')],
      { text: 'It is paid.', toolCalls: [] },
    ],
    [
      'words in parts',
      [chunk({ content: [{ type: 'text', text: 'Paid.' }] }), finish('stop')],
      { text: 'Paid.' },
    ],
    ['nothing but blanks', [words(' '), words('\n'), finish('stop')], { text: null }],
    [
      'words that refuse',
      [chunk({ refusal: 'I ' }), chunk({ refusal: 'will not.' }), finish('stop')],
      { text: 'I will not.' },
    ],
    [
      'a message in the place of a delta',
      [{ choices: [{ message: { content: 'Paid.' }, finish_reason: 'stop' }] }],
      { text: 'Paid.', toolCalls: [] },
    ],
    [
      'chunks without an index',
      [chunk({ content: 'Paid.' }, null, null), chunk({}, 'stop', null)],
      { text: 'Paid.' },
    ],
    [
      'several answers, of which the first is taken',
      [
        chunk({ content: 'No.' }, 'stop', 1),
        chunk({ content: 'Yes.' }, null, 0),
        chunk({ content: '!' }, null, 1),
        finish('stop'),
      ],
      { text: 'Yes.' },
    ],
    [
      'comments, events with names and chunks that say nothing',
      [
        ': busy\n\n',
        'event: ping\ndata: {}\n\n',
        'data: 7\n\n',
        'retry: 10\n\n',
        { choices: [null] },
        { choices: 7 },
        words('Paid.'),
        finish('stop'),
      ],
      { text: 'Paid.' },
    ],
    [
      'a call in pieces, its id and name among them',
      [
        callPiece({ index: 0, id: 'call_', name: 'oa__', arguments: '' }),
        callPiece({ index: 0, id: '1', name: 'pay', arguments: '{"amo' }),
        callPiece({ index: 0, arguments: 'unt":"1"}' }),
        finish('tool_calls'),
      ],
      { text: null, toolCalls: [call('call_1', 'oa__pay', '{"amount":"1"}')] },
    ],
    [
      'pieces of two calls, one by one',
      [
        callPiece({ index: 0, id: 'a', name: 'oa__pay', arguments: '' }),
        callPiece({ index: 1, id: 'b', name: 'oa__log', arguments: '{' }),
        callPiece({ index: 0, arguments: '{"amount":' }),
        callPiece({ index: 1, arguments: '}' }),
        callPiece({ index: 0, arguments: '"1"}' }),
        finish('tool_calls'),
      ],
      bothCalls,
    ],
    [
      'calls that come whole, the second first',
      [callPiece({ index: 1, ...LOG }), callPiece({ index: 0, ...PAY }), finish('tool_calls')],
      bothCalls,
    ],
    ['whole calls without an index', [callPiece(PAY), callPiece(LOG), finish('tool_calls')], bothCalls],
    [
      'whole calls at the same index',
      [callPiece({ index: 0, ...PAY }), callPiece({ index: 0, ...LOG }), finish('tool_calls')],
      bothCalls,
    ],
    [
      'whole calls in one chunk',
      [
        chunk(
          {
            tool_calls: [
              { index: 0, id: 'a', function: PAY },
              { index: 1, id: 'b', function: LOG },
            ],
          },
          'tool_calls',
        ),
      ],
      bothCalls,
    ],
    [
      'whole calls with one id, and no index',
      [callPiece({ ...PAY, id: 'x' }), callPiece({ ...LOG, id: 'x' }), finish('tool_calls')],
      {
        toolCalls: [
          { ...PAY, id: 'x' },
          { ...LOG, id: 'x' },
        ],
      },
    ],
    [
      'a call without id and index, in pieces',
      [
        callPiece({ name: 'oa__pay', arguments: '{"amount"' }),
        callPiece({ arguments: ':"1"}' }),
        callPiece({ name: 'oa__log', arguments: '{}' }),
        finish('tool_calls'),
      ],
      { toolCalls: [call(null, 'oa__pay', '{"amount":"1"}'), call(null, 'oa__log', '{}')] },
    ],
    [
      'a call that says its id and name with every piece',
      [
        callPiece({ index: 0, id: 'a', name: 'oa__pay', arguments: '{"amount"' }),
        callPiece({ index: 0, id: 'a', name: 'oa__pay', arguments: ':"1"}' }),
        callPiece({ index: 0, id: 'a', name: 'oa__pay', arguments: '' }),
        finish('tool_calls'),
      ],
      { toolCalls: [PAY] },
    ],
    [
      'arguments that are no text',
      [callPiece({ index: 0, id: 'a', name: 'oa__pay', arguments: { amount: '1' } }), finish('tool_calls')],
      { toolCalls: [PAY] },
    ],
    [
      'words, and a call without arguments',
      [words('Let me look.'), callPiece({ index: 0, id: 'b', name: 'oa__log' }), finish('stop')],
      { text: 'Let me look.', toolCalls: [call('b', 'oa__log', '')] },
    ],
    [
      'a call without a name',
      [callPiece({ index: 0, id: 'a', arguments: '{}' }), finish('tool_calls')],
      { toolCalls: [call('a', '', '{}')] },
    ],
    [
      'a call that is sent whole once more, and again without its place',
      [
        callPiece({ index: 0, ...PAY }),
        callPiece({ index: 0, ...PAY }),
        callPiece(PAY),
        finish('tool_calls'),
      ],
      { toolCalls: [PAY] },
    ],
    [
      'a whole call without a place that is sent once more',
      [callPiece(PAY), callPiece(LOG), callPiece(PAY), finish('tool_calls')],
      bothCalls,
    ],
    [
      'a call without an id that is sent once more',
      [
        callPiece({ index: 0, name: 'oa__log', arguments: '{}' }),
        callPiece({ index: 0, name: 'oa__log', arguments: '{}' }),
        finish('tool_calls'),
      ],
      { toolCalls: [call(null, 'oa__log', '{}')] },
    ],
    [
      'one call three times, each time under an id or in a place of its own',
      [
        callPiece({ index: 0, ...LOG }),
        callPiece({ index: 0, ...LOG, id: 'c' }),
        callPiece({ index: 2, ...LOG }),
        finish('tool_calls'),
      ],
      { toolCalls: [LOG, { ...LOG, id: 'c' }, LOG] },
    ],
    [
      'the whole message behind its pieces',
      [
        words('I will pay.'),
        callPiece({ index: 0, ...PAY }),
        finish('tool_calls'),
        {
          object: 'chat.completion',
          choices: [
            {
              index: 0,
              message: {
                role: 'assistant',
                content: 'I will pay.',
                tool_calls: [{ id: 'a', function: PAY }],
              },
              finish_reason: 'tool_calls',
            },
          ],
        },
      ],
      { text: 'I will pay.', toolCalls: [PAY] },
    ],
    [
      'pieces whose places are texts, and an id that is a number',
      [
        chunk({ tool_calls: [{ index: '0', id: 7, function: { ...PAY, arguments: '{"amount":' } }] }),
        chunk({ tool_calls: [{ index: '1', id: 'b', function: { ...LOG, arguments: '{"memo":"' } }] }),
        chunk({ tool_calls: [{ index: '0', function: { arguments: '"1"}' } }] }),
        chunk({ tool_calls: [{ index: '1', function: { arguments: '"}' } }] }),
        finish('tool_calls'),
      ],
      { toolCalls: [call('7', 'oa__pay', '{"amount":"1"}'), call('b', 'oa__log', '{"memo":""}')] },
    ],
    [
      'an id of its own for every piece of a call',
      [
        callPiece({ index: 0, id: 'a', name: 'oa__pay', arguments: '{"amount":' }),
        callPiece({ index: 0, id: 'b', arguments: '"1"}' }),
        finish('tool_calls'),
      ],
      { toolCalls: [call('ab', 'oa__pay', '{"amount":"1"}')] },
    ],
    [
      'two answers in one chunk, without an index',
      [
        {
          choices: [
            { delta: { content: 'Yes.' }, finish_reason: 'stop' },
            { delta: { content: 'No.' }, finish_reason: 'length' },
          ],
        },
      ],
      { text: 'Yes.', cut: null },
    ],
    [
      'nothing, written as an empty call or list',
      [
        words('Paid.'),
        callPiece({ index: 0, arguments: '' }),
        { choices: [{ index: 0, delta: [], finish_reason: 'stop' }] },
      ],
      { text: 'Paid.' },
    ],
    [
      'an end that is named with every piece',
      [
        chunk({ content: 'I will ' }, 'stop'),
        chunk({ content: 'pay.' }, 'stop'),
        chunk({ tool_calls: [{ index: 0, id: 'a', function: PAY }] }, 'stop'),
      ],
      { text: 'I will pay.', toolCalls: [PAY] },
    ],
    [
      'two ends, of which one says that it was cut',
      [callPiece({ index: 0, ...PAY }), finish('length'), finish('stop')],
      { cut: 'length' },
    ],
    [
      'two ends, of which one says that something was held back',
      [words('It is'), finish('content_filter'), finish('length'), finish('stop')],
      { cut: 'filter' },
    ],
    [
      'lines that end otherwise, behind a byte order mark',
      [
        `\ufeff${event(words('It is '))}`.replaceAll('\n', '\r\n'),
        event(words('paid.')).replaceAll('\n', '\r\n'),
        event(finish('stop')).replaceAll('\n', '\r'),
      ],
      { text: 'It is paid.' },
    ],
    [
      'what is cut at its greatest length',
      [words('It is'), finish('length')],
      { text: 'It is', cut: 'length' },
    ],
    ['what its provider held back', [words('It is'), finish('content_filter')], { cut: 'filter' }],
    [
      'what it cost, behind its end',
      [
        words('Paid.'),
        finish('stop'),
        { choices: [], usage: { prompt_tokens: 40, completion_tokens: 2, total_tokens: 42 } },
      ],
      { tokens: 42 },
    ],
    [
      'what it cost so far, with every chunk',
      [
        { ...words('Paid.'), usage: { total_tokens: 41 } },
        { ...finish('stop'), usage: { total_tokens: 42 } },
        { choices: [], usage: null },
      ],
      { tokens: 42 },
    ],
  ])('is put together: %s', async (_what, stream, answer) => {
    expect(await answerTo(...stream)).toMatchObject({ kind: 'answered', ...answer });
    expect(server.requests.length).toBe(1);
  });

  it('is heard as it grows', async () => {
    await answerTo(
      chunk({ role: 'assistant', content: '' }),
      words('It is '),
      callPiece({ index: 0, ...LOG }),
      words('paid.'),
      finish('stop'),
    );
    expect(heard).toEqual(['It is ', 'It is paid.']);
  });

  it.each<[string, StreamPart[], ('end' | 'break')?]>([
    ['in the middle of its words', [words('It is')], 'break'],
    [
      'in the middle of a call',
      [callPiece({ index: 0, id: 'a', name: 'oa__pay', arguments: '{"amount"' })],
      'break',
    ],
    ['behind a whole call, before its end', [callPiece({ index: 0, ...PAY })], 'break'],
    ['behind a whole call, in good order', [callPiece({ index: 0, ...PAY })], 'end'],
    ['before it began', [], 'end'],
    [
      'behind an end that it names with every piece',
      [chunk({ content: 'I will' }, 'stop'), chunk({ tool_calls: [{ index: 0, function: PAY }] }, 'stop')],
      'break',
    ],
    ['behind a word for no end', [callPiece({ index: 0, ...PAY }), finish('null')], 'end'],
    [
      'in what comes behind its end',
      [callPiece({ index: 0, ...PAY }), finish('tool_calls'), callPiece({ index: 1, name: 'oa__log' })],
      'break',
    ],
    [
      'in what comes behind its end, in good order',
      [callPiece({ index: 0, ...PAY }), finish('tool_calls'), callPiece({ index: 1, name: 'oa__log' })],
      'end',
    ],
    ...GARBLED.map(([what, ...pieces]): [string, StreamPart[]] => [
      `to reason: ${what}`,
      [...pieces, finish('tool_calls')],
    ]),
    ['with an error', [callPiece({ index: 0, ...PAY }), { error: { message: 'sk-secret', code: 500 } }]],
    [
      'with an error behind its end',
      [callPiece({ index: 0, ...PAY }), finish('tool_calls'), { error: { message: 'sk-secret' } }],
    ],
    ['by its own word', [callPiece({ index: 0, ...PAY }), finish('error')]],
    ['with what cannot be read', [callPiece({ index: 0, ...PAY }), 'data: {"choices":[{"ind\n\n']],
  ])(
    'is none where it breaks off %s: asked for again, three times in all',
    async (_where, stream, ending = 'end') => {
      const broken = { stream, ending } as const;
      server.script('m', [broken, { text: 'Nothing was paid.' }]);
      expect(await ask()).toMatchObject({ text: 'Nothing was paid.', toolCalls: [] });
      expect(server.requests.length).toBe(2);
      server.script('m', [broken, broken, broken, { text: 'too late' }]);
      const failed = await ask();
      expect(failed).toMatchObject({ kind: 'failed', message: expect.stringContaining('(attempt 3 of 3)') });
      expect(JSON.stringify(failed)).not.toContain('secret');
      expect(server.requests.length).toBe(5);
    },
  );

  it('is whole behind its end, whatever becomes of the connection', async () => {
    server.script('m', [
      { stream: [callPiece({ index: 0, ...PAY }), finish('tool_calls')], ending: 'break' },
    ]);
    expect(await ask()).toMatchObject({ toolCalls: [PAY] });
    server.script('m', [{ stream: [words('Paid.'), finish('stop'), 'data: [DONE]\n\n'], ending: 'open' }]);
    const answer = ask();
    await until(() => timers.has(LONGEST_REMAINDER_MS));
    timers.get(LONGEST_REMAINDER_MS)?.();
    expect(await answer).toMatchObject({ text: 'Paid.' });
    expect(timers.size).toBe(0);
    expect(server.requests.length).toBe(2);
  });

  it('is no answer where a call too many is in it, and not asked for again', async () => {
    const calls = Array.from({ length: 201 }, (_, index) => callPiece({ index, ...LOG }));
    expect(await answerTo(...calls, finish('tool_calls'))).toMatchObject({
      kind: 'failed',
      message: expect.stringContaining('201 calls'),
    });
    expect(server.requests.length).toBe(1);
  });

  it('is not read without end', async () => {
    const megabyte = words('x'.repeat(1024 * 1024));
    expect(await answerTo(...Array.from({ length: 17 }, () => megabyte), finish('stop'))).toMatchObject({
      kind: 'failed',
      message: expect.stringContaining('too long'),
    });
    expect(server.requests.length).toBe(1);
  });

  describe('has its time', () => {
    const live = () => {
      const { turn, stream } = liveTurn();
      server.script('m', [turn, { text: 'At last.' }]);
      return stream;
    };

    it('and no more: it may not stop in the middle', async () => {
      const begun = live();
      const answer = ask();
      const stream = await begun;
      stream.send(words('It is'));
      await until(() => heard.length === 1);
      timers.get(LONGEST_SILENCE_MS)?.();
      await stream.closed;
      expect(await answer).toMatchObject({ text: 'At last.' });
      expect(timers.size).toBe(0);
    });

    it('and no more: an end that comes with a piece may not be the last', async () => {
      const begun = live();
      const answer = ask();
      const stream = await begun;
      stream.send(chunk({ content: 'It is' }, 'stop'));
      await until(() => heard.length === 1);
      stream.send(': more is coming\n\n');
      await until(() => timers.has(LONGEST_SILENCE_MS));
      expect(timers.has(LONGEST_REMAINDER_MS)).toBe(false);
      timers.get(LONGEST_SILENCE_MS)?.();
      await stream.closed;
      expect(await answer).toMatchObject({ text: 'At last.' });
    });

    it('and no more: comments keep it open, and not for ever', async () => {
      const begun = live();
      const answer = ask();
      const stream = await begun;
      await until(() => timers.has(LONGEST_SILENCE_MS));
      for (let drops = 0; drops < 3; drops += 1) {
        const silence = timers.get(LONGEST_SILENCE_MS);
        stream.send(': still thinking\n\n');
        await until(() => timers.get(LONGEST_SILENCE_MS) !== silence);
      }
      timers.get(LONGEST_ANSWER_MS)?.();
      await stream.closed;
      expect(await answer).toMatchObject({ text: 'At last.' });
      expect(timers.size).toBe(0);
    });

    it('until nobody wants it any more: the connection is closed', async () => {
      const begun = live();
      const stop = new AbortController();
      const answer = ask(stop.signal);
      const stream = await begun;
      stream.send(words('It is'));
      await until(() => heard.length === 1);
      stop.abort(new Error('enough'));
      await expect(answer).rejects.toThrow('enough');
      await stream.closed;
      expect(server.requests.length).toBe(1);
      expect(timers.size).toBe(0);
    });
  });

  it.each([
    [400, JSON.stringify({ error: { message: "Unsupported value: 'stream' does not support true" } })],
    [
      422,
      JSON.stringify({
        detail: [{ loc: ['body', 'stream_options'], msg: 'Extra inputs are not permitted' }],
      }),
    ],
  ])(
    'that a server refuses to give in pieces (%i) says which setting asks for it whole',
    async (status, body) => {
      server.script('m', [{ body, contentType: 'application/json', status }]);
      expect(await ask()).toMatchObject({
        kind: 'failed',
        message: expect.stringContaining('"stream: false"'),
      });
      expect(server.requests.length).toBe(1);
    },
  );

  it('that a server refuses for another reason says nothing of streaming', async () => {
    server.script('m', [
      { body: '{"error":"the upstream is unknown"}', contentType: 'application/json', status: 400 },
    ]);
    expect(await ask()).toEqual({
      kind: 'failed',
      message: 'The model answered with status 400 (attempt 1 of 3).',
    });
  });
});
