import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import { auditOwnershipWarning, checkAuditOwnership } from '../db/audit-ownership.ts';
import { connectPostgres } from '../db/connect-postgres.ts';
import type { Database } from '../db/database.ts';
import { migrate } from '../db/migrate.ts';
import { openDatabase } from '../db/open-database.ts';
import { grantServingRole } from '../db/serving-role.ts';

/**
 * Opens the database and brings it to this code's version: as its owner where the configuration names one, so that
 * the serving role can neither change nor delete the record.
 */
export async function prepareDatabase(
  config: Config,
  logger: Logger,
  onListenerChange: (connected: boolean) => void,
): Promise<Database> {
  if (config.database !== null) {
    await migratePostgres(config.migrationDatabase ?? config.database, config.database, logger);
  }
  const database = await openDatabase(config, onListenerChange);
  try {
    if (config.database === null) logApplied(await migrate(database), logger);
    const warning = auditOwnershipWarning(await checkAuditOwnership(database), config.locale);
    if (warning !== null) logger.warn(warning);
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** Rewriting a large table takes its time; the service waits for it. */
const MIGRATION_STATEMENT_TIMEOUT_MS = 3_600_000;

async function migratePostgres(ownerUrl: string, servingUrl: string, logger: Logger): Promise<void> {
  const owner = await connectPostgres({
    url: ownerUrl,
    poolSize: 1,
    listen: false,
    statementTimeoutMs: MIGRATION_STATEMENT_TIMEOUT_MS,
  });
  try {
    logApplied(await migrate(owner), logger);
    const role = decodeURIComponent(new URL(servingUrl).username);
    if (role !== decodeURIComponent(new URL(ownerUrl).username)) await grantServingRole(owner, role);
  } finally {
    await owner.close();
  }
}

function logApplied({ applied }: { readonly applied: readonly string[] }, logger: Logger): void {
  if (applied.length > 0) logger.info({ applied }, 'migrations applied');
}
