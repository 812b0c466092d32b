/**
 * The frames of a long connection, protobuf `pbbp2.Frame`: SeqID 1, LogID 2 (uint64), service 3, method 4 (int32),
 * repeated headers 5 {key 1, value 2}, payload_encoding 6, payload_type 7, payload 8, LogIDNew 9.
 */
export interface Frame {
  readonly sequence: bigint;
  readonly log: bigint;
  readonly service: number;
  readonly method: 'control' | 'data';
  readonly headers: Readonly<Record<string, string>>;
  readonly payload: Buffer;
}

export function encodeFrame(frame: Frame): Buffer {
  const headers = Object.entries(frame.headers).map(([key, value]) =>
    field(5, Buffer.concat([field(1, Buffer.from(key)), field(2, Buffer.from(value))])),
  );
  return Buffer.concat([
    number(1, frame.sequence),
    number(2, frame.log),
    number(3, BigInt(frame.service)),
    number(4, frame.method === 'control' ? 0n : 1n),
    ...headers,
    field(8, frame.payload),
  ]);
}

/** Null for bytes that are no such frame. */
export function decodeFrame(bytes: Buffer): Frame | null {
  const fields = readFields(bytes);
  if (fields === null) return null;
  const numberOf = (id: number) =>
    fields.find((one) => one.id === id && typeof one.value === 'bigint')?.value;
  const method = numberOf(4);
  if (method !== 0n && method !== 1n) return null;
  const payload = fields.find(({ id }) => id === 8)?.value;
  return {
    sequence: BigInt(numberOf(1)?.toString() ?? 0),
    log: BigInt(numberOf(2)?.toString() ?? 0),
    service: Number(numberOf(3) ?? 0),
    method: method === 0n ? 'control' : 'data',
    headers: Object.fromEntries(fields.flatMap(({ id, value }) => (id === 5 ? headerOf(value) : []))),
    payload: Buffer.isBuffer(payload) ? payload : Buffer.alloc(0),
  };
}

interface Field {
  readonly id: number;
  readonly value: bigint | Buffer;
}

function headerOf(value: bigint | Buffer): [string, string][] {
  const fields = Buffer.isBuffer(value) ? readFields(value) : null;
  const text = (wanted: number) => fields?.find(({ id }) => id === wanted)?.value.toString() ?? '';
  return fields === null ? [] : [[text(1), text(2)]];
}

const VARINT = 0n;
const LENGTH_DELIMITED = 2n;

function readFields(bytes: Buffer): Field[] | null {
  const fields: Field[] = [];
  let at = 0;
  const varint = (): bigint | null => {
    let value = 0n;
    for (let shift = 0n; shift < 70n && at < bytes.length; shift += 7n) {
      const byte = BigInt(bytes[at] ?? 0);
      at += 1;
      value |= (byte & 0x7fn) << shift;
      if (byte < 0x80n) return value;
    }
    return null;
  };
  while (at < bytes.length) {
    const tag = varint();
    const value = tag === null ? null : varint();
    if (tag === null || value === null) return null;
    const id = Number(tag >> 3n);
    if ((tag & 7n) === VARINT) fields.push({ id, value });
    else if ((tag & 7n) === LENGTH_DELIMITED && at + Number(value) <= bytes.length) {
      fields.push({ id, value: bytes.subarray(at, at + Number(value)) });
      at += Number(value);
    } else return null;
  }
  return fields;
}

const number = (id: number, value: bigint): Buffer =>
  Buffer.concat([writeVarint(BigInt(id) << 3n), writeVarint(value)]);
const field = (id: number, bytes: Buffer): Buffer =>
  Buffer.concat([
    writeVarint((BigInt(id) << 3n) | LENGTH_DELIMITED),
    writeVarint(BigInt(bytes.length)),
    bytes,
  ]);

function writeVarint(value: bigint): Buffer {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 0x80n) {
    bytes.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  return Buffer.from([...bytes, Number(rest)]);
}
