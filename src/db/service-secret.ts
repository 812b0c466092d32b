import { randomBytes } from 'node:crypto';
import { eq } from 'drizzle-orm';
import { pgTable, text } from 'drizzle-orm/pg-core';
import type { Database } from './database.ts';

const serviceSecrets = pgTable('service_secrets', {
  name: text('name').primaryKey(),
  value: text('value').notNull(),
});

/** A key of the service's own, made at the first start and the same for every replica since. */
export async function serviceSecret(database: Database, name: string): Promise<string> {
  const { connection } = database;
  await connection
    .insert(serviceSecrets)
    .values({ name, value: randomBytes(32).toString('base64url') })
    .onConflictDoNothing();
  const [row] = await connection.select().from(serviceSecrets).where(eq(serviceSecrets.name, name));
  if (!row) throw new Error(`The key ${name} could not be stored`);
  return row.value;
}
