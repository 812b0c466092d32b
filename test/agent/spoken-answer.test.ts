import { describe, expect, it } from 'vitest';
import { LeaseLost } from '../../src/agent/run-record.ts';
import { SpokenAnswer, type SpokenPiece } from '../../src/agent/spoken-answer.ts';
import type { Clock } from '../../src/clock.ts';
import { newRunId } from '../../src/ids.ts';
import { rebuilt } from './rebuilt.ts';

describe('what is told of an answer while it is given', () => {
  function listen({ wasBegun = false } = {}) {
    const told: SpokenPiece[] = [];
    const timers = new Set<() => void>();
    const clock: Clock = {
      now: () => 0,
      monotonic: () => 0,
      setTimer(_delayMs, run) {
        timers.add(run);
        return () => timers.delete(run);
      },
    };
    const control = {
      told,
      timers,
      lost: null as LeaseLost | null,
      /** How a piece is written; at once, unless a test says otherwise. */
      write: async () => {},
      /** The pause is over, and what was to be written is. */
      async pass() {
        for (const fire of [...timers]) {
          timers.delete(fire);
          fire();
        }
        await new Promise(setImmediate);
      },
    };
    const answer = new SpokenAnswer({
      turn: 1,
      wasBegun,
      clock,
      async tell(piece) {
        await control.write();
        told.push(piece);
      },
      onLeaseLost: (lost) => {
        control.lost = lost;
      },
    });
    return { answer, control, told };
  }
  const seen = (told: readonly SpokenPiece[], rest: SpokenPiece | null) =>
    rebuilt(rest === null ? told : [...told, rest]).get(1);

  it('is nothing where the answer is there at once: all of it is in the last piece', async () => {
    const { answer, told, control } = listen();
    answer.hear('It is');
    answer.hear('It is paid.');
    expect(await answer.end('It is paid.')).toEqual({ turn: 1, text: 'It is paid.', first: true });
    expect([told, control.timers.size]).toEqual([[], 0]);
  });

  it('is nothing at all of an answer without words', async () => {
    const { answer, told, control } = listen();
    answer.hear(' ');
    await control.pass();
    expect(await answer.end(null)).toBeNull();
    expect([told, control.timers.size]).toEqual([[], 0]);
  });

  it('is looked at once a pause, also while a model goes on with blanks without end', async () => {
    const { answer, told } = listen();
    let text = '';
    for (let chunks = 0; chunks < 4_000; chunks += 1) {
      text += ' '.repeat(1_000);
      answer.hear(text);
    }
    expect([await answer.end(null), told]).toEqual([null, []]);
    // Looked at with every chunk, it takes a processor for twenty seconds.
  }, 5_000);

  it('is one piece a pause, however many chunks come, and the rest with the answer', async () => {
    const { answer, told, control } = listen();
    let text = '';
    for (let chunks = 1; chunks <= 1_000; chunks += 1) {
      text += `word ${chunks} `;
      answer.hear(text);
      if (chunks % 250 === 0) await control.pass();
    }
    answer.hear(`${text}.`);
    const rest = await answer.end(`${text}.`);
    expect(told.map(({ first }) => first)).toEqual([true, false, false, false]);
    expect(rest).toEqual({ turn: 1, text: '.', first: false });
    expect(seen(told, rest)).toBe(`${text}.`);
  });

  it('does not pile up where the database is slow: one piece is under way, the next takes all that came meanwhile', async () => {
    const { answer, told, control } = listen();
    let written = () => {};
    control.write = () =>
      new Promise((resolve) => {
        written = resolve;
      });
    answer.hear('a');
    await control.pass();
    for (const text of ['ab', 'abc', 'abcd']) {
      answer.hear(text);
      await control.pass();
    }
    expect([told, control.timers.size]).toEqual([[], 0]);
    written();
    await new Promise(setImmediate);
    const ended = control.pass().then(() => answer.end('abcde'));
    await new Promise(setImmediate);
    written();
    expect(await ended).toEqual({ turn: 1, text: 'e', first: false });
    expect(told.map(({ text }) => text)).toEqual(['a', 'bcd']);
  });

  it('begins again where an answer broke off and the next one says something else', async () => {
    const { answer, told, control } = listen();
    for (const text of ['I will pay', 'Sorry', 'Sorry, I']) {
      answer.hear(text);
      await control.pass();
    }
    const rest = await answer.end('Sorry, I will not.');
    expect(told.map(({ text, first }) => [text, first])).toEqual([
      ['I will pay', true],
      ['Sorry', true],
      [', I', false],
    ]);
    expect(seen(told, rest)).toBe('Sorry, I will not.');
  });

  it.each([
    ['another one without words comes', { wasBegun: false }],
    ['an earlier worker had told of it', { wasBegun: true }],
  ])('is taken back where an answer broke off and %s', async (_what, { wasBegun }) => {
    const { answer, told, control } = listen({ wasBegun });
    if (!wasBegun) {
      answer.hear('I will pay');
      await control.pass();
    }
    const rest = await answer.end(null);
    expect(rest).toEqual({ turn: 1, text: '', first: true });
    expect(seen(told, rest)).toBe('');
  });

  it('is made good by the next piece where one is lost', async () => {
    const { answer, told, control } = listen();
    answer.hear('It');
    await control.pass();
    control.write = () => Promise.reject(new Error('the disk is full'));
    answer.hear('It is');
    await control.pass();
    control.write = async () => {};
    answer.hear('It is paid');
    await control.pass();
    const rest = await answer.end('It is paid.');
    expect(told.map(({ text, first }) => [text, first])).toEqual([
      ['It', true],
      ['It is paid', true],
    ]);
    expect(seen(told, rest)).toBe('It is paid.');
  });

  it('is not told in the middle of a character', async () => {
    const { answer, told, control } = listen();
    const money = '\u{1f4b0}';
    answer.hear(`Paid ${money[0]}`);
    await control.pass();
    answer.hear(`Paid ${money}`);
    const rest = await answer.end(`Paid ${money}`);
    expect([...told, rest].map((piece) => piece?.text)).toEqual(['Paid ', money]);
  });

  it('ends with the lease', async () => {
    const { answer, control } = listen();
    control.write = () => Promise.reject(new LeaseLost(newRunId()));
    answer.hear('It is');
    await control.pass();
    expect(control.lost).toBeInstanceOf(LeaseLost);
  });
});
