/**
 * The length extension of SHA-256: from a digest and the length of what was hashed, the digest of that text followed
 * by its padding and `suffix`, without knowing the text. What a forger could do to a keyed-prefix signature.
 */
export function extendSha256(input: {
  readonly digest: Buffer;
  readonly hashedBytes: number;
  readonly suffix: Buffer;
}): { readonly glue: Buffer; readonly digest: Buffer } {
  const glue = padding(input.hashedBytes);
  const total = input.hashedBytes + glue.length + input.suffix.length;
  const blocks = Buffer.concat([input.suffix, padding(total)]);
  const state = Array.from({ length: 8 }, (_, index) => input.digest.readUInt32BE(index * 4));
  for (let at = 0; at < blocks.length; at += 64) compress(state, blocks.subarray(at, at + 64));
  const digest = Buffer.alloc(32);
  for (const [index, word] of state.entries()) digest.writeUInt32BE(word >>> 0, index * 4);
  return { glue, digest };
}

function padding(bytes: number): Buffer {
  const zeros = (119 - (bytes % 64)) % 64;
  const end = Buffer.alloc(1 + zeros + 8);
  end[0] = 0x80;
  end.writeBigUInt64BE(BigInt(bytes) * 8n, 1 + zeros);
  return end;
}

const PRIMES = (() => {
  const found: number[] = [];
  for (let candidate = 2; found.length < 64; candidate += 1)
    if (found.every((prime) => candidate % prime !== 0)) found.push(candidate);
  return found;
})();
/** FIPS 180-4: the first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
const CONSTANTS = PRIMES.map((prime) => Math.floor((Math.cbrt(prime) % 1) * 2 ** 32));

const rotate = (word: number, by: number): number => (word >>> by) | (word << (32 - by));

function compress(state: number[], block: Buffer): void {
  const schedule = Array.from({ length: 16 }, (_, index) => block.readUInt32BE(index * 4));
  const word = (index: number): number => schedule[index] ?? 0;
  for (let index = 16; index < 64; index += 1) {
    const low = word(index - 15);
    const high = word(index - 2);
    const first = rotate(low, 7) ^ rotate(low, 18) ^ (low >>> 3);
    const second = rotate(high, 17) ^ rotate(high, 19) ^ (high >>> 10);
    schedule.push((word(index - 16) + first + word(index - 7) + second) | 0);
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
  for (let index = 0; index < 64; index += 1) {
    const choice = (e & f) ^ (~e & g);
    const sum = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
    const first = (h + sum + choice + (CONSTANTS[index] ?? 0) + word(index)) | 0;
    const majority = (a & b) ^ (a & c) ^ (b & c);
    const second = ((rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + majority) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
  }
  for (const [index, value] of [a, b, c, d, e, f, g, h].entries())
    state[index] = ((state[index] ?? 0) + value) | 0;
}
