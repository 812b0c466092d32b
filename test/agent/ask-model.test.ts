import { expect, it } from 'vitest';
import { askModel } from '../../src/agent/ask-model.ts';
import type { Model } from '../../src/agent/model.ts';
import { LeaseLost } from '../../src/agent/run-record.ts';
import type { SpokenPiece } from '../../src/agent/spoken-answer.ts';
import { newRunId } from '../../src/ids.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { rebuilt } from './rebuilt.ts';

function ask(model: Model, heldAt: () => Promise<Date> = async () => new Date()) {
  const clock = new ManualClock();
  const told: SpokenPiece[] = [];
  const record = {
    heldAt,
    tell: async (piece: SpokenPiece) => {
      told.push(piece);
    },
  };
  const asked = askModel({
    model,
    messages: [{ role: 'user', content: 'Pay.' }],
    tools: [],
    work: { clock, record, progress: { spokenTurn: null }, scope: { signal: new AbortController().signal } },
  });
  return { clock, told, asked };
}

/** Ends only when it is told to, and tells of it. */
function endlessModel() {
  let hungUp = false;
  const model: Model = {
    complete: ({ signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          hungUp = true;
          reject(signal.reason);
        });
      }),
  };
  return { model, hasHungUp: () => hungUp };
}

it('hangs up on a model that says nothing where another worker has taken the run over', async () => {
  const { model, hasHungUp } = endlessModel();
  const lost = new LeaseLost(newRunId());
  let checks = 0;
  const { clock, asked } = ask(model, async () => {
    checks += 1;
    if (checks === 1) throw new Error('the database is away');
    if (checks === 3) throw lost;
    return new Date();
  });
  const ended = expect(asked).rejects.toBe(lost);
  for (let round = 1; round <= 3; round += 1) {
    expect(hasHungUp()).toBe(false);
    clock.advance(10_000);
    await new Promise(setImmediate);
    expect(checks).toBe(round);
  }
  await ended;
  expect([hasHungUp(), clock.pendingTimers]).toEqual([true, 0]);
});

it('takes back from whoever watches what the provider held back in the end', async () => {
  let answer = () => {};
  const { clock, told, asked } = ask({
    complete: ({ onText }) => {
      onText('The account is');
      return new Promise((resolve) => {
        answer = () =>
          resolve({ kind: 'answered', text: 'The account is', toolCalls: [], tokens: 1, cut: 'filter' });
      });
    },
  });
  clock.advance(250);
  await new Promise(setImmediate);
  expect(rebuilt(told).get(1)).toBe('The account is');
  answer();
  const { spoken } = (await asked) as { spoken: SpokenPiece };
  expect(rebuilt([...told, spoken]).get(1)).toBe('');
  expect(clock.pendingTimers).toBe(0);
});
