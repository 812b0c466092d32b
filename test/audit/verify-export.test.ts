import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { canonicalEventText, chainOf, logHashOf, sha256Hex } from '../../src/audit/event-hash.ts';
import type { ExportedEvent } from '../../src/audit/verify-export.ts';
import { auditCheck } from '../../src/cli/audit-check.ts';

const FIRST = '01932f5e-8b00-7000-8000-000000000001';
const SECOND = '01932f5e-8b00-7000-8000-000000000002';

/** Two requests that were asked, voted on and decided side by side, as an export shows them. */
function record(): ExportedEvent[] {
  const chains = new Map<string, { readonly seq: number; readonly hash: string }>();
  let prevHash = '';
  return ['confirmation.requested', 'vote.cast', 'confirmation.decided'].flatMap((kind, step) =>
    [FIRST, SECOND].map((confirmation, index) => {
      const seq = step * 2 + index + 1;
      const said = {
        ...{ kind, confirmation, run: null, at: `2026-11-30T02:20:0${seq}.125Z` },
        id: `01932f5e-8c00-7000-8000-00000000000${seq}`,
        actor: { type: 'person', id: 'li.wei', name: '李伟' } as const,
        data: { person: 'li.wei', reason: 'right' },
      };
      const { seq: length, hash: requestPrev } = chains.get(chainOf(said)) ?? { seq: 0, hash: '' };
      const hashed = { ...said, requestSeq: length + 1, requestPrev };
      const requestHash = sha256Hex(canonicalEventText(hashed));
      const hash = logHashOf({ requestHash, prevHash, seq });
      const event: ExportedEvent = { ...hashed, requestHash, seq, prevHash, hash };
      chains.set(chainOf(said), { seq: length + 1, hash: requestHash });
      prevHash = hash;
      return event;
    }),
  );
}

describe('an export', () => {
  let folder: string;
  let said: string[];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'countersign-export-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));
  afterEach(() => vi.restoreAllMocks());

  async function checked(
    events: readonly object[],
    { head = null, selection = false }: { head?: string | null; selection?: boolean } = {},
  ): Promise<number> {
    said = [];
    for (const stream of ['log', 'error'] as const)
      vi.spyOn(console, stream).mockImplementation((words) => void said.push(words));
    const file = join(folder, `${crypto.randomUUID()}.jsonl`);
    await writeFile(file, events.map((event) => `${JSON.stringify(event)}\n`).join(''));
    return auditCheck({ file, head, selection });
  }
  const headOf = ({ seq, hash }: ExportedEvent) => `${seq} ${hash}`;
  const at = (events: readonly ExportedEvent[], index: number): ExportedEvent =>
    events.at(index) ?? expect.fail('no such event');

  it('in which nothing was changed is whole, and shows where it ends', async () => {
    const events = record();
    expect(await checked(events)).toBe(0);
    expect(said).toEqual([
      'The export is whole: 6 events.',
      `Last: ${headOf(at(events, 5))}`,
      expect.stringContaining('--head'),
    ]);
    expect(await checked(events, { head: headOf(at(events, 3)) })).toBe(0);
    expect(said).toHaveLength(2);
  });

  it.each<[string, (events: ExportedEvent[]) => readonly object[], string]>([
    [
      'another reason',
      (events) => events.with(2, { ...at(events, 2), data: { person: 'li.wei', reason: 'wrong' } }),
      'at number 3: What it says is not what was hashed.',
    ],
    [
      'a name that was changed, with its own hash mended',
      (events) => {
        const event = { ...at(events, 2), actor: { type: 'person', id: 'li.wei', name: '王芳' } as const };
        return events.with(2, { ...event, requestHash: sha256Hex(canonicalEventText(event)) });
      },
      'at number 3: Its number or its place in the log was changed.',
    ],
    ['an event less', (events) => events.toSpliced(2, 1), 'at number 4: Number 3 is missing.'],
    ['a beginning less', (events) => events.slice(2), 'at number 3: Number 1 is missing.'],
    [
      'two events in each other’s place',
      (events) => [...events.slice(0, 2), at(events, 3), at(events, 2), ...events.slice(4)],
      'at number 4: Number 3 is missing.',
    ],
    ['an event twice', (events) => events.toSpliced(2, 0, at(events, 1)), 'at number 2: It stands behind'],
  ])('with %s is changed', async (_, change, reason) => {
    expect(await checked(change(record()))).toBe(1);
    expect(said.join('\n')).toContain(`The export was CHANGED, ${reason}`);
  });

  it('without its end is found by a head that was kept elsewhere, and by nothing else', async () => {
    const events = record();
    const head = headOf(at(events, 5));
    expect(await checked(events.slice(0, 4))).toBe(0);
    expect(await checked(events.slice(0, 4), { head })).toBe(1);
    expect(said.join('\n')).toContain('the last one has the number 4');
    expect(await checked(events, { head: `6 ${'0'.repeat(64)}` })).toBe(1);
    expect(said.join('\n')).toContain('at number 6: It is not the event whose hash was kept.');
  });

  it('of one request is a selection: its own chain is followed', async () => {
    const events = record().filter(({ confirmation }) => confirmation === SECOND);
    expect(await checked(events)).toBe(1);
    expect(await checked(events, { selection: true })).toBe(0);
    expect(said[0]).toBe(
      'Nothing in this selection was changed: 3 events. What it leaves out was not looked at.',
    );
    expect(await checked(events.toReversed(), { selection: true })).toBe(1);
  });

  it('with a line that is no event, or says more than hashes cover, is not taken', async () => {
    const [event] = record();
    for (const line of [{}, { ...event, note: 'x' }, { ...event, actor: { ...event?.actor, title: 'x' } }])
      await expect(checked([line])).rejects.toThrow(':1: is not an event');
    await expect(checked(record(), { head: '6' })).rejects.toThrow('--head has to be');
    expect(await checked([])).toBe(1);
  });
});
