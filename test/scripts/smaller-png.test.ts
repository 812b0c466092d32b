import { crc32, deflateSync, inflateSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { smallerPng } from '../../scripts/pictures/smaller-png.ts';

const WIDTH = 40;
const HEIGHT = 30;

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  check.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, check]);
}

const SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');

function head(colourType: number): Buffer {
  const data = Buffer.alloc(13);
  data.writeUInt32BE(WIDTH, 0);
  data.writeUInt32BE(HEIGHT, 4);
  data.set([8, colourType], 8);
  return data;
}

/** A screenshot whose rows use every filter of the format in turn. */
function screenshot(colourOf: (pixel: number) => readonly number[], colourType = 2): Buffer {
  const stride = WIDTH * 3;
  const pixels = Buffer.from(Array.from({ length: WIDTH * HEIGHT }, (_, at) => colourOf(at)).flat());
  const at = (row: number, byte: number) => (row < 0 || byte < 0 ? 0 : (pixels[row * stride + byte] ?? 0));
  const rows = Array.from({ length: HEIGHT }, (_, row) => {
    const filter = row % 5;
    const bytes = Array.from({ length: stride }, (_, byte) => {
      const [left, above, corner] = [at(row, byte - 3), at(row - 1, byte), at(row - 1, byte - 3)];
      return at(row, byte) - ([0, left, above, (left + above) >> 1, paeth(left, above, corner)][filter] ?? 0);
    });
    return Buffer.from([filter, ...bytes]);
  });
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', head(colourType)),
    chunk('IDAT', deflateSync(Buffer.concat(rows))),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function paeth(left: number, above: number, corner: number): number {
  const guess = left + above - corner;
  const [best] = [left, above, corner].sort((one, other) => Math.abs(guess - one) - Math.abs(guess - other));
  return best ?? 0;
}

/** The colours of a PNG with a palette and unfiltered rows. */
function coloursOf(png: Buffer): number[][] {
  const data = (type: string) => {
    const at = png.indexOf(type, 0, 'latin1');
    return png.subarray(at + 4, at + 4 + png.readUInt32BE(at - 4));
  };
  const palette = data('PLTE');
  const rows = inflateSync(data('IDAT'));
  return Array.from({ length: WIDTH * HEIGHT }, (_, pixel) => {
    const index = rows[Math.floor(pixel / WIDTH) * (WIDTH + 1) + 1 + (pixel % WIDTH)] ?? 0;
    return [...palette.subarray(index * 3, index * 3 + 3)];
  });
}

describe('a smaller picture', () => {
  it('keeps every pixel of a screenshot with few colours', () => {
    const colourOf = (pixel: number) => [(pixel * 7) % 5, 200, (pixel >> 3) % 9];
    const expected = Array.from({ length: WIDTH * HEIGHT }, (_, pixel) => colourOf(pixel));
    expect(coloursOf(smallerPng(screenshot(colourOf)))).toEqual(expected);
  });

  it('stays close to every pixel where there are more colours than a palette holds', () => {
    const colourOf = (pixel: number) => [pixel % 64, (pixel * 3) % 64, Math.floor(pixel / 19)];
    for (const [pixel, colour] of coloursOf(smallerPng(screenshot(colourOf))).entries()) {
      const exact = colourOf(pixel);
      const distance = Math.hypot(...colour.map((channel, at) => channel - (exact[at] ?? 0)));
      expect(distance).toBeLessThan(27);
    }
  });

  it('is not made of a picture that is no plain screenshot', () => {
    expect(() => smallerPng(screenshot(() => [0, 0, 0], 6))).toThrow('not a plain RGB screenshot');
  });
});
