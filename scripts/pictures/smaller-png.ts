import { crc32, deflateSync, inflateSync } from 'node:zlib';

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const RGB = 3;
const PALETTE = 256;

/**
 * A browser's screenshot (8-bit RGB, not interlaced) as a PNG with a palette, about a third of the size. Sheets of
 * cards have few colours, so each pixel takes the palette's nearest and nothing is dithered. W3C, "PNG", third edition.
 */
export function smallerPng(png: Buffer): Buffer {
  const chunks = chunksOf(png);
  const head = chunks.find(({ type }) => type === 'IHDR')?.data;
  if (head?.[8] !== 8 || head[9] !== 2 || head[12] !== 0) throw new Error('not a plain RGB screenshot');
  const width = head.readUInt32BE(0);
  const height = head.readUInt32BE(4);
  const data = Buffer.concat(chunks.filter(({ type }) => type === 'IDAT').map((chunk) => chunk.data));
  const pixels = unfiltered(inflateSync(data), width * RGB, height);
  const { palette, indexOf } = paletteOf(pixels);
  const rows = Buffer.alloc((width + 1) * height);
  for (let at = 0; at < width * height; at += 1) {
    const row = Math.floor(at / width);
    rows[row * (width + 1) + 1 + (at % width)] = indexOf(colourAt(pixels, at));
  }
  const newHead = Buffer.from(head);
  newHead[9] = 3;
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', newHead),
    chunk('PLTE', Buffer.from(palette.flatMap((colour) => channelsOf(colour)))),
    chunk('IDAT', deflateSync(rows, { level: 9, memLevel: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunksOf(png: Buffer) {
  const chunks: { readonly type: string; readonly data: Buffer }[] = [];
  for (let at = SIGNATURE.length; at < png.length; ) {
    const length = png.readUInt32BE(at);
    chunks.push({
      type: png.toString('latin1', at + 4, at + 8),
      data: png.subarray(at + 8, at + 8 + length),
    });
    at += 12 + length;
  }
  return chunks;
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const frame = Buffer.alloc(4);
  frame.writeUInt32BE(data.length);
  const check = Buffer.alloc(4);
  check.writeUInt32BE(crc32(body));
  return Buffer.concat([frame, body, check]);
}

/** Every row begins with the filter that its bytes are differences by. */
function unfiltered(raw: Buffer, stride: number, height: number): Buffer {
  const pixels = Buffer.alloc(stride * height);
  for (let row = 0; row < height; row += 1) {
    const filter = raw[row * (stride + 1)] ?? 0;
    for (let at = 0; at < stride; at += 1) {
      const to = row * stride + at;
      const left = at < RGB ? 0 : (pixels[to - RGB] ?? 0);
      const above = row === 0 ? 0 : (pixels[to - stride] ?? 0);
      const corner = at < RGB || row === 0 ? 0 : (pixels[to - stride - RGB] ?? 0);
      const predicted = [0, left, above, (left + above) >> 1, nearest(left, above, corner)][filter] ?? 0;
      pixels[to] = (raw[row * (stride + 1) + 1 + at] ?? 0) + predicted;
    }
  }
  return pixels;
}

/** Paeth's predictor. */
function nearest(left: number, above: number, corner: number): number {
  const [byLeft, byAbove] = [Math.abs(above - corner), Math.abs(left - corner)];
  const byCorner = Math.abs(left + above - 2 * corner);
  if (byLeft <= byAbove && byLeft <= byCorner) return left;
  return byAbove <= byCorner ? above : corner;
}

const colourAt = (pixels: Buffer, pixel: number): number => pixels.readUIntBE(pixel * RGB, RGB);
const channelsOf = (colour: number) => [colour >> 16, (colour >> 8) & 255, colour & 255] as const;

/** The commonest colour of each of the commonest regions, so that rare colours have one near them as well. */
function paletteOf(pixels: Buffer) {
  const counts = new Map<number, number>();
  for (let pixel = 0; pixel < pixels.length / RGB; pixel += 1) {
    const colour = colourAt(pixels, pixel);
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  const regions = new Map<number, number>();
  const byCount = [...counts.keys()].sort(
    (left, right) => (counts.get(right) ?? 0) - (counts.get(left) ?? 0),
  );
  for (const colour of byCount) {
    const region = colour & 0xf0f0f0;
    if (!regions.has(region) && regions.size < PALETTE - COMMONEST) regions.set(region, colour);
  }
  const palette = [...new Set([...byCount.slice(0, COMMONEST), ...regions.values()])];
  const known = new Map<number, number>();
  const indexOf = (colour: number): number => {
    const index = known.get(colour) ?? indexOfNearest(palette, colour);
    known.set(colour, index);
    return index;
  };
  return { palette, indexOf };
}

const COMMONEST = 96;

function indexOfNearest(palette: readonly number[], colour: number): number {
  const distances = palette.map((candidate) => {
    const channels = channelsOf(colour);
    return channelsOf(candidate).reduce((sum, channel, at) => sum + (channel - (channels[at] ?? 0)) ** 2, 0);
  });
  return distances.indexOf(Math.min(...distances));
}
