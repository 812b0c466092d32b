import { PGlite } from '@electric-sql/pglite';
import type { Database } from './database.ts';
import { embeddedDatabase } from './embedded-database.ts';

/** Opens the embedded database: one process, nothing to install. `folder` null keeps it in memory. */
export async function connectEmbedded(folder: string | null): Promise<Database> {
  return embeddedDatabase(await PGlite.create(folder ?? 'memory://'));
}
