import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ConnectorLogStore } from '../../src/db/connector-log-store.ts';
import type { Database } from '../../src/db/database.ts';
import { connectorCalls } from '../../src/db/schema/hooks.ts';
import { DATABASES } from '../support/databases.ts';

const ENTRY = {
  organization: 'acme',
  connector: 'oa',
  tool: 'oa__purchase_pay',
  agent: 'procurement',
  person: 'zhao.min',
  session: 'session-1',
  run: '01990000-0000-7000-8000-000000000001',
  status: 'succeeded',
  code: null,
  durationMs: 12.4,
  argsDigest: `sha256:${'0'.repeat(64)}`,
  confirmation: null,
};

describe.each(DATABASES)('the log of connector calls on $name', ({ open }) => {
  let database: Database;
  beforeAll(async () => {
    database = await open();
  });
  afterAll(() => database.close());

  it('keeps each line as it was written, at the time of the database', async () => {
    const store = new ConnectorLogStore(database);
    const bare = { person: null, session: null, run: null, durationMs: null, argsDigest: null };
    await store.write(ENTRY);
    await store.write({ ...ENTRY, ...bare, connector: null, status: 'blocked', code: 'rejected' });
    const lines = await database.connection.select().from(connectorCalls).orderBy(connectorCalls.id);
    expect(lines).toMatchObject([
      { ...ENTRY, durationMs: 12 },
      { ...bare, connector: null, status: 'blocked', code: 'rejected' },
    ]);
    expect(Math.abs(Date.now() - (lines[0]?.at.getTime() ?? 0))).toBeLessThan(60_000);
  });
});
