import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { connectEmbedded } from './connect-embedded.ts';
import { connectPostgres } from './connect-postgres.ts';
import { lockDataFolder } from './data-folder-lock.ts';
import type { Database } from './database.ts';

/** Opens the database that the configuration names; the embedded one under `dataDir`, for this process alone. */
export async function openDatabase(
  config: Pick<Config, 'database' | 'dataDir'>,
  onListenerChange: (connected: boolean) => void,
): Promise<Database> {
  if (config.database !== null) return connectPostgres({ url: config.database, onListenerChange });
  const unlock = await lockDataFolder(config.dataDir);
  try {
    const database = await connectEmbedded(join(config.dataDir, 'database'));
    return {
      ...database,
      async close() {
        await database.close();
        await unlock();
      },
    };
  } catch (error) {
    await unlock();
    throw error;
  }
}
