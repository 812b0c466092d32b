import { expect, it } from 'vitest';
import { GrowingObject } from '../../src/agent/growing-object.ts';

const WHOLE = ['{}', ' {"a": [1, {"b": "}"}]} ', '{"a":"\\"}"}', '{"a":"\\\\"}', '{"款":"💰{["}\n'];
const NOT = [
  ...['', ' ', '{', '{"a":1', '{"a":"}', '{"a":"\\"}', '[]', '[{}]', '"{}"', '7', 'null'],
  ...['{}}', '{}{}', '{} x', 'x{}', '{a}', '{"a":1]', '{"a":[}', '{,}', '{}"'],
];

it.each([...WHOLE.map((text) => [text, true] as const), ...NOT.map((text) => [text, false] as const)])(
  'knows of %j whether it is whole, however it is cut',
  (text, isWhole) => {
    for (let length = 1; length <= Math.max(1, text.length); length += 1) {
      const growing = new GrowingObject();
      for (let from = 0; from < text.length; from += length) {
        // Asked in between, as a stream does.
        void growing.isWhole;
        growing.add(text.slice(from, from + length));
      }
      expect([growing.text, growing.isWhole]).toEqual([text, isWhole]);
    }
  },
);

it('costs as much as it is long, not that for every piece', () => {
  const growing = new GrowingObject();
  growing.add('{"a":"');
  for (let pieces = 0; pieces < 200_000; pieces += 1) {
    growing.add('}');
    if (growing.isWhole) throw new Error(`whole after ${pieces} pieces`);
  }
}, 5_000);
