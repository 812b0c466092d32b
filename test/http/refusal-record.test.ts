import { describe, expect, it } from 'vitest';
import { type NewAuditEvent, SYSTEM_ACTOR } from '../../src/audit/audit-event.ts';
import { RefusalRecord } from '../../src/http/refusal-record.ts';

const refusal = (address: string): NewAuditEvent => ({
  kind: 'callback.refused',
  confirmation: null,
  run: null,
  actor: SYSTEM_ACTOR,
  data: { channel: 'pay-slack', address },
});

/** A recorder whose writes end when the test says so. */
function heldRecorder() {
  const begun: NewAuditEvent[] = [];
  const ends: { done(): void; fail(error: Error): void }[] = [];
  return {
    begun,
    ends,
    record: (event: NewAuditEvent) =>
      new Promise<void>((resolve, reject) => {
        begun.push(event);
        ends.push({ done: resolve, fail: reject });
      }),
  };
}

describe('refused callbacks on the record', () => {
  it('take one write at a time, whatever comes in', async () => {
    const recorder = heldRecorder();
    const record = new RefusalRecord(recorder);
    const all = Array.from({ length: 5 }, (_, index) => record.record(refusal(`10.0.0.${index}`)));
    for (let index = 0; index < 5; index += 1) {
      await Promise.resolve();
      expect(recorder.begun).toHaveLength(index + 1);
      recorder.ends[index]?.done();
      await all[index];
    }
  });

  it('are counted in the next event where a flood finds no room', async () => {
    const recorder = heldRecorder();
    const record = new RefusalRecord(recorder);
    const first = Array.from({ length: 20 }, () => record.record(refusal('10.0.0.1')));
    // At once, although nothing is written yet.
    await Promise.all(Array.from({ length: 500 }, () => record.record(refusal('10.0.0.2'))));
    for (let index = 0; index < 20; index += 1) {
      await Promise.resolve();
      recorder.ends[index]?.done();
      await first[index];
    }
    expect(recorder.begun).toHaveLength(20);
    expect(recorder.begun.map(({ data }) => data.unrecorded).filter(Boolean)).toEqual([500]);
  });

  it('go on after a write that failed, and count it', async () => {
    const recorder = heldRecorder();
    const record = new RefusalRecord(recorder);
    const failing = record.record(refusal('10.0.0.1'));
    await Promise.resolve();
    recorder.ends[0]?.fail(new Error('the database is away'));
    await expect(failing).rejects.toThrow('away');
    const next = record.record(refusal('10.0.0.2'));
    await Promise.resolve();
    recorder.ends[1]?.done();
    await next;
    expect(recorder.begun[1]?.data).toMatchObject({ address: '10.0.0.2', unrecorded: 1 });
  });
});
