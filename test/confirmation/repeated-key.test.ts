import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import type { AskMetadata } from '../../src/hook/hook-context.ts';
import { type Core, startCore } from '../support/core.ts';
import { openPostgres } from '../support/databases.ts';

/** More than there are connections in the pool. */
const AT_ONCE = 40;

describe('one Idempotency-Key, many times at once', () => {
  let database: Database;
  let core: Core;
  beforeAll(async () => {
    database = await openPostgres();
    core = startCore(database);
  });
  afterAll(async () => {
    core.stop();
    await database.close();
  });

  const asking = (idempotencyKey: string, bodyDigest: string) => {
    const ask: AskMetadata = {
      apiKeyId: 'procurement',
      idempotencyKey,
      bodyDigest,
      requesterNamedByAgent: false,
      summary: null,
      metadata: {},
    };
    return core.ask({ amount: '1', currency: 'CNY', payee: 'Acme' }, { metadata: { ask } });
  };

  it('makes one request, and nobody waits for a connection that the others hold', async () => {
    const startedAt = performance.now();
    const answers = await Promise.all(Array.from({ length: AT_ONCE }, () => asking('same', 'sha256:a')));
    const ids = new Set(
      answers.map((answer) => (answer.kind === 'pending' ? answer.confirmationId : answer.kind)),
    );
    expect(ids.size).toBe(1);
    // The pool gives up on a caller after 10 s.
    expect(performance.now() - startedAt).toBeLessThan(9_000);
  });

  it('is a conflict for every other body', async () => {
    const answers = await Promise.allSettled(
      Array.from({ length: AT_ONCE }, (_, index) => asking('other', `sha256:${index}`)),
    );
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const answer of answers)
      if (answer.status === 'rejected') expect(answer.reason).toMatchObject({ code: 'idempotency_conflict' });
  });
});
