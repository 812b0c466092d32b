import { sql } from 'drizzle-orm';
import type { Locale } from '../locale.ts';
import type { Database } from './database.ts';
import { rowsOf } from './rows-of.ts';
import { SEQUENCER_COLUMNS } from './serving-role.ts';

/** What the role that this service connects as could do to the record beside appending to it. */
export interface AuditOwnership {
  readonly role: string;
  readonly embedded: boolean;
  readonly superuser: boolean;
  /** It owns `audit_events` or may act as its owner: it could switch the triggers off. */
  readonly owns: boolean;
  /** In any column that the sequencer does not set. */
  readonly canUpdate: boolean;
  readonly canDelete: boolean;
  readonly canTruncate: boolean;
}

/** Asks the database, at start. Throws where `audit_events` does not exist yet. */
export async function checkAuditOwnership(database: Database): Promise<AuditOwnership> {
  const [row] = await rowsOf<Omit<AuditOwnership, 'embedded'>>(
    database.connection,
    sql`
      select current_user::text as role, current_setting('is_superuser') = 'on' as superuser,
             pg_has_role(current_user, relation.relowner, 'MEMBER') as owns,
             has_table_privilege(relation.oid, 'DELETE') as "canDelete",
             has_table_privilege(relation.oid, 'TRUNCATE') as "canTruncate",
             (select bool_or(has_column_privilege(relation.oid, attnum, 'UPDATE')) from pg_attribute
              where attrelid = relation.oid and attnum > 0 and not attisdropped
                and attname not in ${[...SEQUENCER_COLUMNS]}) as "canUpdate"
      from pg_class relation where relation.oid = 'audit_events'::regclass`,
  );
  if (!row) throw new Error('The table audit_events is missing: run the migrations.');
  return { ...row, embedded: database.kind === 'embedded' };
}

/** The sentence with which the start says that the record is less than fully protected; null where it is. */
export function auditOwnershipWarning(ownership: AuditOwnership, locale: Locale): string | null {
  const { role, embedded, superuser, owns, canUpdate, canDelete, canTruncate } = ownership;
  const chinese = locale === 'zh-CN';
  if (embedded) {
    return chinese
      ? '内置数据库的服务进程拥有审计记录：篡改只能被发现（countersign audit verify），不能被阻止。'
      : 'With the embedded database the service owns the audit record: tampering is found (countersign audit verify), not prevented.';
  }
  if (superuser || owns) {
    return chinese
      ? `数据库角色 ${role} 拥有 audit_events，可以关闭其触发器：保护较弱。请用另一个角色运行服务，并把所有者写入 migrationDatabase。`
      : `The database role ${role} owns audit_events and could switch its triggers off, which protects it less. Serve as another role and give the owner as migrationDatabase.`;
  }
  if (canUpdate || canDelete || canTruncate) {
    return chinese
      ? `数据库角色 ${role} 有权修改、删除或清空 audit_events，目前只有触发器在阻止：请收回这些权限（见 docs/audit.md）。`
      : `The database role ${role} may update, delete or truncate audit_events and only triggers refuse it: revoke those privileges (see docs/audit.md).`;
  }
  return null;
}
