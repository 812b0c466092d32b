import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { AUDIT_KINDS } from '../../src/audit/audit-event.ts';
import { canonicalEventText, logHashOf, sha256Hex } from '../../src/audit/event-hash.ts';
import { digestOf } from '../../src/confirmation/digest.ts';

const page = readFileSync(new URL('../../docs/audit.md', import.meta.url), 'utf8');

describe('docs/audit.md', () => {
  it('says what every kind of event holds', () => {
    const rows = page.split('\n').filter((line) => line.startsWith('| `'));
    const missing = AUDIT_KINDS.filter((kind) => !rows.some((row) => row.includes(`\`${kind}\``)));
    expect(missing).toEqual([]);
  });

  it('shows an event whose hashes are right', () => {
    const { seq, requestHash, prevHash, hash, ...event } = JSON.parse(
      page.split('```json')[1]?.split('```')[0] ?? '',
    );
    expect(sha256Hex(canonicalEventText(event))).toBe(requestHash);
    expect(logHashOf({ requestHash, prevHash, seq })).toBe(hash);
  });

  it('shows the text and the digest of a call', () => {
    const [, text = '', digest] =
      /```text\n(\{"args".+)\n```\n\ngives `(sha256:[0-9a-f]{64})`/.exec(page) ?? [];
    expect(`sha256:${sha256Hex(text)}`).toBe(digest);
    expect(digestOf(JSON.parse(text))).toBe(digest);
  });
});
