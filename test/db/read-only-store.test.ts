import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { AuditActor } from '../../src/audit/audit-event.ts';
import type { Database } from '../../src/db/database.ts';
import { ReadOnlyStore } from '../../src/db/read-only-store.ts';
import { auditEvents } from '../../src/db/schema/audit.ts';
import { DATABASES } from '../support/databases.ts';

const ZHAO: AuditActor = { type: 'person', id: 'zhao.min', name: '赵敏' };
const ORGANIZATION = { kind: 'organization' } as const;
const OA = { kind: 'connector', id: 'oa' } as const;

describe.each(DATABASES)('the read-only switch on $name', ({ open }) => {
  let database: Database;
  let store: ReadOnlyStore;
  beforeAll(async () => {
    database = await open();
    store = new ReadOnlyStore(database);
  });
  beforeEach(() =>
    database.connection.execute(
      sql`update gate_controls set read_only_organization = false, read_only_connectors = '{}'`,
    ),
  );
  afterAll(() => database.close());

  const events = () =>
    database.connection
      .select({ kind: auditEvents.kind, actor: auditEvents.actorId, data: auditEvents.data })
      .from(auditEvents)
      .orderBy(auditEvents.insertOrder);

  it('is off at first', async () => {
    expect(await store.get()).toEqual({ organization: false, connectors: [] });
    expect(await store.isReadOnly('oa')).toBe(false);
    expect(await store.isReadOnly(null)).toBe(false);
  });

  it('stops one connector, or everything', async () => {
    await store.set({ scope: { kind: 'connector', id: 'crm' }, readOnly: true, actor: ZHAO });
    expect(await store.set({ scope: OA, readOnly: true, actor: ZHAO })).toEqual({
      organization: false,
      connectors: ['crm', 'oa'],
    });
    expect(await store.isReadOnly('oa')).toBe(true);
    expect(await store.isReadOnly('files')).toBe(false);
    expect(await store.isReadOnly(null)).toBe(false);

    await store.set({ scope: ORGANIZATION, readOnly: true, actor: ZHAO });
    expect(await store.isReadOnly('files')).toBe(true);
    expect(await store.isReadOnly(null)).toBe(true);

    await store.set({ scope: ORGANIZATION, readOnly: false, actor: ZHAO });
    expect(await store.set({ scope: OA, readOnly: false, actor: ZHAO })).toEqual({
      organization: false,
      connectors: ['crm'],
    });
  });

  it('puts each change on the record, with who made it, and no repetition', async () => {
    const before = (await events()).length;
    const woken: string[] = [];
    const unsubscribe = database.notifier.subscribe('audit', (id) => woken.push(id));
    await store.set({ scope: OA, readOnly: true, actor: ZHAO });
    await store.set({ scope: OA, readOnly: true, actor: ZHAO });
    await store.set({ scope: ORGANIZATION, readOnly: false, actor: ZHAO });
    unsubscribe();
    expect((await events()).slice(before)).toEqual([
      {
        kind: 'read_only.changed',
        actor: 'zhao.min',
        data: { scope: 'connector', connector: 'oa', readOnly: true },
      },
    ]);
  });

  it('changes nothing that cannot be recorded', async () => {
    const actor = { ...ZHAO, type: 'nobody' } as unknown as AuditActor;
    await expect(store.set({ scope: OA, readOnly: true, actor })).rejects.toThrow();
    expect(await store.isReadOnly('oa')).toBe(false);
  });

  it('loses no change of two that are made at once', async () => {
    const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
    await Promise.all(
      ids.map((id) => store.set({ scope: { kind: 'connector', id }, readOnly: true, actor: ZHAO })),
    );
    expect((await store.get()).connectors).toEqual(ids);
  });

  it('says nothing rather than "writable" where its row is gone', async () => {
    await database
      .transaction(async (connection) => {
        await connection.execute(sql`delete from gate_controls`);
        const inside = new ReadOnlyStore({ ...database, connection });
        await expect(inside.isReadOnly('oa')).rejects.toThrow(/gate_controls is missing/);
        throw new Error('put it back');
      })
      .catch((error: Error) => expect(error.message).toBe('put it back'));
  });
});
