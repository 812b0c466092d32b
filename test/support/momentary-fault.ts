import { sql } from 'drizzle-orm';
import type { Database } from '../../src/db/database.ts';

/**
 * Makes the database fail the first `times` writes of an invocation that `condition` says (SQL over `new`), and no
 * later ones: a sequence counts them, which no rollback turns back. Ends with the returned function.
 */
export async function failFirstWrites(
  { connection }: Database,
  { condition, times }: { readonly condition: string; readonly times: number },
): Promise<() => Promise<void>> {
  const run = (statement: string) => connection.execute(sql.raw(statement));
  await run('create sequence momentary_faults');
  await run(`create function momentary_fault() returns trigger language plpgsql as $$ begin
    if ${condition} and nextval('momentary_faults') <= ${times} then raise 'the disk is full'; end if;
    return new;
  end $$`);
  await run(`create trigger momentary_fault before update on invocations
    for each row execute function momentary_fault()`);
  return async () => {
    await run('drop trigger momentary_fault on invocations');
    await run('drop function momentary_fault');
    await run('drop sequence momentary_faults');
  };
}
