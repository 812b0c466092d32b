import type { AuditReader } from '../audit/audit-reader.ts';
import { createAuditReader } from '../db/audit-reader.ts';
import type { Database } from '../db/database.ts';
import type { Locale } from '../locale.ts';

export interface AuditVerifyOptions {
  readonly database: Database;
  /** Takes one line, without its end. */
  readonly write: (line: string) => void;
  /** Default en-US. */
  readonly locale?: Locale;
}

/** `countersign audit verify`: the exit code is 0 for a whole record, 1 for one that was tampered with. */
export async function runAuditVerify(options: AuditVerifyOptions): Promise<0 | 1> {
  const verification = await createAuditReader(options.database).verify();
  for (const line of linesOf(verification, options.locale ?? 'en-US')) options.write(line);
  return verification.ok ? 0 : 1;
}

function linesOf(
  verification: Awaited<ReturnType<AuditReader['verify']>>,
  locale: Locale,
): readonly string[] {
  const chinese = locale === 'zh-CN';
  if (verification.ok) {
    const { events, head } = verification;
    return chinese
      ? [`审计记录完整：${events} 条事件。`, `记录末端：${head.seq} ${head.hash}（请另行保存，以便日后核对）`]
      : [
          `The audit record is whole: ${events} events.`,
          `Head: ${head.seq} ${head.hash} (keep it elsewhere to compare later)`,
        ];
  }
  const { seq, confirmation, reason } = verification.firstBad;
  const where = [
    seq === null ? (chinese ? '无编号' : 'no number') : `seq ${seq}`,
    ...(confirmation === null ? [] : [`confirmation ${confirmation}`]),
  ].join(', ');
  return chinese
    ? ['审计记录已被改动！', `第一处异常（${where}）：${reason}`]
    : ['The audit record was TAMPERED WITH.', `First bad row (${where}): ${reason}`];
}
