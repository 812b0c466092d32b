import { createHash } from 'node:crypto';

/** RFC 8785, written from the RFC: sorted by UTF-16 code units, numbers and strings as ECMAScript writes them. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1));
    return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`).join(',')}}`;
  }
  return JSON.stringify(value);
}

export function argumentsDigest(call: {
  readonly organization: string;
  readonly tool: string;
  readonly toolVersion: string | null;
  readonly args: unknown;
}): string {
  return `sha256:${createHash('sha256').update(canonicalJson(call), 'utf8').digest('hex')}`;
}
