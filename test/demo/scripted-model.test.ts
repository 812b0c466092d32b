import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createOpenAiModel } from '../../src/agent/openai-model.ts';
import { systemClock } from '../../src/clock.ts';
import { type ScriptedModel, startScriptedModel } from '../../src/demo/scripted-model.ts';

describe('the server of the scripted model', () => {
  let server: ScriptedModel;
  beforeAll(async () => {
    server = await startScriptedModel();
  });
  afterAll(() => server.stop());

  it.each([true, false])('answers what it is asked for, streaming: %s', async (stream) => {
    const heard: string[] = [];
    const ask = (content: string) =>
      createOpenAiModel({ baseUrl: server.url, apiKey: '', model: 'demo', stream }, systemClock).complete({
        messages: [{ role: 'user', content }],
        tools: [],
        signal: new AbortController().signal,
        onText: (text) => heard.push(text),
      });
    expect(await ask('Pay Acme Paper 68,000.00 CNY')).toMatchObject({
      text: null,
      toolCalls: [{ name: 'oa__purchase_pay', arguments: expect.stringContaining('"amount":"68000.00"') }],
    });
    expect(heard).toEqual([]);
    const { text } = (await ask('Good morning')) as { text: string };
    expect(text).toContain('I only know how to pay');
    expect(heard.at(-1)).toBe(stream ? text : undefined);
    expect(heard.length > 5).toBe(stream);
  });
});
