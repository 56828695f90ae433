import type { AuditRow } from '../identity/audit-sql.ts';
import { isoOf } from '../time/clock.ts';

/** An act as the command line and the console show it. */
export function auditEntry(row: AuditRow) {
  return {
    id: row.id,
    at: isoOf(row.atMs),
    operator_id: row.operatorId,
    who: row.who,
    role: row.role,
    act: row.act,
    account_id: row.accountId,
    subject: row.subject,
    reason: row.reason,
    before: row.before,
    after: row.after,
  };
}
