import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { resultTruncate } from '../../hooks/result-truncate.ts';
import { rowsOf } from '../../src/db/rows-of.ts';
import { agentId } from '../../src/ids.ts';
import type { JsonObject } from '../../src/json.ts';
import { agent, httpTool, withTools } from '../agent/sample-config.ts';
import { BUYER, type CaseRig, EXECUTORS, onlyRequest, script, startRig, vote } from './case-rig.ts';

const OPEN = 'oa__open';

describe('a value arrives as it was sent', () => {
  let rig: CaseRig;

  beforeAll(async () => {
    rig = await startRig({
      agents: [
        agent('buyer'),
        agent('reader', { hooks: [{ name: 'result-truncate', options: { limit: 100 } }] }),
      ],
      hookKinds: [resultTruncate],
      change: (config) =>
        withTools(config, (tools, id) =>
          id === 'oa'
            ? [
                ...tools,
                httpTool({ name: 'open', path: '/payments', requiresConfirmation: true }),
                httpTool({ name: 'prototype', path: '/prototype' }),
                httpTool({ name: 'deep', path: '/deep' }),
                httpTool({ name: 'impostor', path: '/impostor' }),
              ]
            : tools,
        ),
    });
  });
  afterAll(() => rig.stop());
  beforeEach(() => {
    rig.payments.calls.length = 0;
    rig.model.requests.length = 0;
  });

  /** Through the model, in exactly these bytes. */
  const startWith = (text: string) => {
    rig.model.script('buyer', [{ calls: [{ id: 'c', name: OPEN, arguments: text }] }, { text: 'Done.' }]);
    return rig.engine.start({ agent: BUYER });
  };

  it.each([
    ['accountId', '2512292042121000001'],
    ['amount', '9007199254740993'],
    ['amount', '1e21'],
    ['amount', '0.1000000000000000055511151231257827'],
    ['amount', '1e400'],
    ['amount', '123456789012345678.5'],
  ])(
    '155: %s %s would lose digits, is refused, and the model is told to send a string',
    async (name, digits) => {
      const { id } = await startWith(`{"payee":"Acme","nested":[{"${name}":${digits}}]}`);
      const run = await rig.engine.finished(id);
      expect(run.invocations).toMatchObject([
        { status: 'blocked', confirmation: null, error: { code: 'invalid_arguments' } },
      ]);
      expect(run.invocations[0]?.error?.message).toContain('send it as a string');
      expect(rig.payments.calls).toEqual([]);
    },
  );

  it.each([
    ['0.30000000000000004', 0.1 + 0.2],
    ['-0', 0],
    ['1.50', 1.5],
    ['9007199254740991', Number.MAX_SAFE_INTEGER],
    ['"9007199254740993"', '9007199254740993'],
    ['"100.50"', '100.50'],
    ['"007"', '007'],
    ['"true"', 'true'],
    ['"null"', 'null'],
    ['null', null],
    ['true', true],
    ['{}', {}],
    ['[]', []],
    ['""', ''],
  ])('155, 157, 158: %s is stored, shown, digested and sent as that', async (text, value) => {
    const { id } = await startWith(`{"amount":${text}}`);
    const request = await onlyRequest(rig.engine, id);
    expect(JSON.stringify(request.args)).toBe(JSON.stringify({ amount: value }));
    const rows = await rowsOf<{ whole: string; args: JsonObject }>(
      rig.database.connection,
      sql`select jsonb_typeof(args) as whole, args from confirmations where id = ${request.id}`,
    );
    expect(rows).toEqual([{ whole: 'object', args: { amount: value } }]);
    await rig.engine.decide(request.id, 'approve');
    const run = await rig.engine.finished(id);
    expect(run.invocations).toMatchObject([{ status: 'succeeded', args: { amount: value } }]);
    expect(rig.payments.calls.map(({ body }) => body)).toEqual([{ amount: value }]);
  });

  it.each([
    ['a key twice', '{"amount":"1","amount":"2"}'],
    ['a key twice in disguise', '{"amount":"1","am\\u006funt":"1"}'],
    ['a prototype', '{"__proto__":{"confirm":true}}'],
    ['a NUL', '{"a":"x\\u0000"}'],
    ['half a character', '{"a":"\\ud83d"}'],
    ['half a character as a key', '{"\\udc00":1}'],
    ['66 levels', `{"a":${'['.repeat(65)}${']'.repeat(65)}}`],
    ['a hundred thousand levels', `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`],
    [
      'a hundred thousand keys',
      `{${Array.from({ length: 100_000 }, (_, place) => `"k${place}":1`).join(',')}}`,
    ],
    ['over 256 KiB', `{"a":"${'x'.repeat(262_200)}"}`],
    ['a comment', '{"a":1/* */}'],
    ['two objects', '{"a":1}{"a":2}'],
    ['NaN', '{"a":NaN}'],
  ])('arguments with %s are refused before anybody is asked', async (_what, text) => {
    const { id } = await startWith(text);
    const run = await rig.engine.finished(id);
    expect(run.invocations).toMatchObject([
      { status: 'blocked', confirmation: null, error: { code: 'invalid_arguments' } },
    ]);
    expect(rig.payments.calls).toEqual([]);
  });

  it('names that every object has are names like others', async () => {
    const { id } = await startWith(
      '{"constructor":{"prototype":{"polluted":true}},"toString":"x","hasOwnProperty":1}',
    );
    const request = await onlyRequest(rig.engine, id);
    await rig.engine.decide(request.id, 'approve');
    await rig.engine.finished(id);
    expect(rig.payments.calls.map(({ body }) => body)).toEqual([request.args]);
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
  });

  it.each(EXECUTORS)('146: an approval of no arguments is none of some ($executor)', async ({ start }) => {
    const first = await start(rig.engine, [{ tool: OPEN, args: {} }]);
    await rig.engine.decide((await onlyRequest(rig.engine, first.id)).id, 'approve');
    await rig.engine.finished(first.id);
    for (const args of [{ amount: 5 }, { amount: null }]) {
      const { id } = await start(rig.engine, [{ tool: OPEN, args }]);
      const request = await onlyRequest(rig.engine, id);
      expect(request).toMatchObject({ status: 'pending', args });
      await rig.engine.engine.runs.cancel(id);
    }
    expect(rig.payments.calls.map(({ body }) => body)).toEqual([{}]);
  });

  it.each(['😀', '👨‍👩‍👧', '𠮷', '不'])('160: %s across every limit stays whole', async (character) => {
    for (const offset of [0, 1]) {
      const text = 'x'.repeat(offset) + character.repeat(700);
      const { id } = await rig.engine.start({
        agent: agentId('reader'),
        input: script([{ tool: OPEN, args: { memo: text } }], [{ tool: 'oa__nul' }]),
      });
      const request = await onlyRequest(rig.engine, id);
      expect(request.args.memo).toBe(text);
      await vote(rig.engine, request, 'reject', { reason: text });
      await rig.engine.finished(id);
      for (const { messages } of rig.model.requests)
        for (const { content } of messages) expect((content ?? '').isWellFormed()).toBe(true);
    }
  });

  it('a result that talks of prototypes is only a result', async () => {
    const { id } = await rig.engine.start({
      agent: BUYER,
      plan: [
        { kind: 'tool', id: 'a', tool: 'oa__prototype', args: {}, dependsOn: [], onRejected: 'fail' },
        {
          kind: 'tool',
          id: 'b',
          tool: 'oa__log',
          args: { all: { $from: 'a' } },
          dependsOn: [],
          onRejected: 'continue',
        },
      ],
    });
    const run = await rig.engine.finished(id);
    expect(run.invocations[0]?.status).toBe('succeeded');
    expect(run.invocations[1]).toMatchObject({ status: 'blocked', error: { code: 'invalid_arguments' } });
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
  });

  it.each([3_000, 6_000, 100_000])('a result of %i levels is kept as its text', async (levels) => {
    rig.payments.levels = levels;
    const { id } = await rig.engine.start({ agent: BUYER, input: script([{ tool: 'oa__deep' }]) });
    const run = await rig.engine.finished(id);
    expect(run.status).toBe('succeeded');
    expect(run.invocations[0]?.status).toBe('succeeded');
    expect(run.invocations[0]?.result === '['.repeat(levels) + ']'.repeat(levels)).toBe(true);
    expect(rig.payments.calls.length).toBe(1);
  });

  it.each(EXECUTORS)('a result that looks like a decision decides nothing ($executor)', async (through) => {
    const { id } = await through.start(rig.engine, [
      { tool: 'oa__impostor' },
      { tool: OPEN, args: { amount: '9999.00', payee: 'Mallory' } },
    ]);
    const request = await onlyRequest(rig.engine, id);
    expect(rig.payments.callsTo('/payments')).toEqual([]);
    await rig.engine.decide(request.id, 'reject');
    const run = await rig.engine.finished(id);
    const impostor = run.invocations.find(({ tool }) => tool === 'oa__impostor');
    expect(impostor).toMatchObject({ status: 'succeeded', error: null });
    const kinds = (await rig.engine.recorded(id))
      .filter(({ data }) => data.tool === 'oa__impostor')
      .map(({ kind }) => kind);
    expect(kinds).toEqual(['tool.executed']);
    expect(rig.payments.callsTo('/payments')).toEqual([]);
  });
});
