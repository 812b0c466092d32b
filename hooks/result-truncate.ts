import { z } from 'zod';
import { PostToolUseHook } from '../src/hook/hook.ts';
import type { PostToolUseContext } from '../src/hook/hook-context.ts';
import type { HookKind } from '../src/hook/hook-kind.ts';
import type { PostToolUseResult } from '../src/hook/hook-results.ts';

const options = z.strictObject({
  /** Most characters of a result that the model sees, counted in code points. */
  limit: z.int().min(100).max(1_000_000).default(8_000),
});

/**
 * Cuts what the model sees of a long result, and says so; the recorded result stays whole. Runs after every other
 * hook, so that none makes the view longer again. It denies when it fails: an oversized result would push the
 * instructions out of the model's window, which is worse than a view that is withheld.
 */
export const resultTruncate: HookKind<z.infer<typeof options>> = {
  name: 'result-truncate',
  options,
  create: ({ limit }) => new ResultTruncateHook(limit),
};

class ResultTruncateHook extends PostToolUseHook {
  readonly name = 'result-truncate';
  readonly onError = 'deny';
  override readonly priority = 10_000;
  readonly #limit: number;

  constructor(limit: number) {
    super();
    this.#limit = limit;
  }

  override shouldTrigger({ toolResult }: PostToolUseContext): boolean {
    // There are never more code points than code units, so most results need no counting.
    return toolResult.length > this.#limit && codePoints(toolResult) > this.#limit;
  }

  async execute({ toolResult }: PostToolUseContext): Promise<PostToolUseResult> {
    const kept = cutAt(toolResult, this.#limit);
    const missing = codePoints(toolResult) - codePoints(kept);
    return {
      modifiedResult: `${kept}\n\n[The result was cut here: ${missing} more characters are not shown. It is on record in full.]`,
      sideEffects: [`cut ${missing} characters from the result`],
    };
  }
}

function codePoints(text: string): number {
  let count = 0;
  for (let index = 0; index < text.length; index += 1) if (!isTrailing(text, index)) count += 1;
  return count;
}

/** The first `limit` code points, or a little less: what a reader sees as one character is not taken apart. */
function cutAt(text: string, limit: number): string {
  let end = 0;
  for (let count = 0; count < limit; count += 1) end += isTrailing(text, end + 1) ? 2 : 1;
  // No character of any script is longer; what is joined to be so is cut between two code points.
  const from = Math.max(0, end - LONGEST_CHARACTER);
  const start = isTrailing(text, from) ? from - 1 : from;
  const around = text.slice(start, end + LONGEST_CHARACTER);
  const boundary = start + (characters.segment(around).containing(end - start)?.index ?? end - start);
  return text.slice(0, boundary > start ? boundary : end);
}

const LONGEST_CHARACTER = 64;
const characters = new Intl.Segmenter('und', { granularity: 'grapheme' });

/** Whether the code unit is the second half of a surrogate pair. */
function isTrailing(text: string, index: number): boolean {
  const unit = text.charCodeAt(index);
  if (!(unit >= 0xdc00 && unit <= 0xdfff)) return false;
  const before = text.charCodeAt(index - 1);
  return before >= 0xd800 && before <= 0xdbff;
}
