import { counted } from '../errors/counted.ts';
import { OperatorError } from '../errors/operator-error.ts';
import { verifyLedger } from '../ledger/verification.ts';
import type { Database } from '../store/database.ts';

/** Throws an `OperatorError` when the ledger has differences; `when` ends its sentence. */
export async function assertConsistent(database: Database, when: string): Promise<void> {
  const { differences } = await verifyLedger(database);
  if (differences.length > 0)
    throw new OperatorError(
      `the ledger has ${counted(differences.length, 'difference')} ${when}; run naru ledger verify`,
    );
}
