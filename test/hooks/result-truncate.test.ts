import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { resultTruncate } from '../../hooks/result-truncate.ts';
import { dispatchPostToolUse } from '../../src/hook/dispatch-post-tool-use.ts';
import { HookRegistry } from '../../src/hook/hook-registry.ts';
import { CONTEXT, postHook, SampleGate } from '../hook/sample-hooks.ts';
import { workingPorts } from '../hook/sample-ports.ts';
import { ManualClock } from '../support/manual-clock.ts';

async function viewOf(toolResult: string, options: object = {}, others: ReturnType<typeof postHook>[] = []) {
  const hook = resultTruncate.create(resultTruncate.options.parse(options), workingPorts());
  const { view } = await dispatchPostToolUse({
    registry: new HookRegistry({ hooks: [hook, ...others], gate: new SampleGate() }),
    context: { ...CONTEXT, toolResult },
    signal: new AbortController().signal,
    clock: new ManualClock(),
    onHookFailed: () => {},
  });
  return view;
}

const SENTENCE =
  /\n\n\[The result was cut here: (\d+) more characters are not shown\. It is on record in full\.\]$/;

function partsOf(view: string): { readonly kept: string; readonly missing: number } {
  const match = SENTENCE.exec(view);
  return { kept: view.replace(SENTENCE, ''), missing: Number(match?.[1] ?? 0) };
}

describe('cutting a result', () => {
  it('leaves what fits alone, up to the last character', async () => {
    expect(await viewOf('x'.repeat(8_000))).toBe('x'.repeat(8_000));
    // 8,000 characters for a reader, 16,000 for the machine.
    expect(await viewOf('𠮷'.repeat(8_000))).toBe('𠮷'.repeat(8_000));
  });

  it('cuts at 8,000 characters and says how many are missing', async () => {
    expect(partsOf(await viewOf('字'.repeat(8_123)))).toEqual({ kept: '字'.repeat(8_000), missing: 123 });
  });

  it.each(['😀', '𠮷', '👨‍👩‍👧', 'é', '🇨🇳'])('takes no %s apart', async (character) => {
    for (let before = 90; before <= 101; before += 1) {
      const { kept, missing } = partsOf(
        await viewOf(`${'x'.repeat(before)}${character}${'y'.repeat(50)}`, { limit: 100 }),
      );
      expect(kept.isWellFormed()).toBe(true);
      expect(kept.replace(/^x+/, '').replace(/y+$/, '')).toMatch(new RegExp(`^(${character})?$`, 'u'));
      expect([...kept].length + missing).toBe(before + [...character].length + 50);
    }
  });

  it('cuts what is joined without end, all the same', async () => {
    const { kept, missing } = partsOf(await viewOf(`e${'\u0301'.repeat(5_000)}`, { limit: 100 }));
    expect([...kept].length).toBeLessThanOrEqual(100);
    expect([...kept].length).toBeGreaterThan(0);
    expect([...kept].length + missing).toBe(5_001);
  });

  it('never shows more than the limit, never loses count, never splits a pair', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme', maxLength: 300 }), async (text) => {
        const { kept, missing } = partsOf(await viewOf(text, { limit: 100 }));
        expect(text.startsWith(kept)).toBe(true);
        expect([...kept].length).toBeLessThanOrEqual(100);
        expect([...kept].length + missing).toBe([...text].length);
        expect(kept.isWellFormed()).toBe(true);
      }),
      { numRuns: 200 },
    );
  });

  it('happens after every other hook', async () => {
    const longer = postHook({
      name: 'longer',
      priority: 500,
      execute: () => ({ modifiedResult: 'z'.repeat(9_000) }),
    });
    expect(partsOf(await viewOf('short', {}, [longer]))).toMatchObject({ missing: 1_000 });
  });

  it.each([[{ limit: 0 }], [{ limit: 99 }], [{ limit: '8000' }]])('refuses the options %j', (options) => {
    expect(resultTruncate.options.safeParse(options).success).toBe(false);
  });
});
