import { openDatabase } from '../db/open-database.ts';
import { runAuditVerify } from './audit-verify.ts';
import { withConfig } from './with-config.ts';

/**
 * `countersign audit verify`: 0 for a whole record, 1 for one that was changed. An embedded database that a running
 * service holds is asked through its API instead (`GET /v1/audit/verify`); the error says so.
 */
export const auditVerify = ({ configFile }: { readonly configFile: string }): Promise<number> =>
  withConfig(configFile, async (config) => {
    const database = await openDatabase(config, () => {});
    try {
      return await runAuditVerify({
        database,
        locale: config.locale,
        write: (line) => console.log(line),
      });
    } finally {
      await database.close();
    }
  });
