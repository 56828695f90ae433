import { krwOfMicro } from '../money/krw.ts';
import type { OperatorService } from '../operations/operator-service.ts';
import type { Database } from '../store/database.ts';
import type { Sql } from '../store/sql.ts';

/** The initial credit of the demo account: ₩10,000. */
const bonus = krwOfMicro(10_000_000_000n);
const demoName = 'demo';
/** An arbitrary constant: the advisory lock for creating the demo account. */
const demoLock = 7_236_482_620;

/** The demo account's keys in plaintext, shown once. */
export interface DemoAccount {
  readonly accountId: number;
  readonly inferenceKey: string;
  readonly managementKey: string;
}

/**
 * Creates the demo account when there are no accounts, and completes one without keys after a killed first start; null when there is
 * nothing to do.
 */
export function createDemoAccount(
  operator: OperatorService,
  database: Database,
): Promise<DemoAccount | null> {
  // Of several nodes that start at once on an empty database one creates it; the others wait and find it.
  return database.transaction(async (sql) => {
    await sql.query('SELECT pg_advisory_xact_lock($1)', [demoLock]);
    return create(operator, sql);
  });
}

async function create(operator: OperatorService, sql: Sql): Promise<DemoAccount | null> {
  const accounts = await sql.query<{ id: bigint; name: string }>(
    'SELECT id, name FROM account ORDER BY id LIMIT 2',
  );
  const accountId = await unfinished(operator, accounts);
  if (accountId === null) return null;
  await operator.grantCredit({
    accountId,
    kind: 'bonus',
    amount: bonus,
    expiresAtMs: null,
    idempotencyKey: 'demo-bonus',
    memo: 'welcome to Naru',
  });
  const unlimited = { accountId, limit: null, limitReset: 'never', expiresAtMs: null } as const;
  const inference = await operator.createKey({ ...unlimited, kind: 'inference', name: 'demo' });
  const management = await operator.createKey({ ...unlimited, kind: 'management', name: 'demo management' });
  return { accountId, inferenceKey: inference.plaintext, managementKey: management.plaintext };
}

async function unfinished(
  operator: OperatorService,
  accounts: readonly { readonly id: bigint; readonly name: string }[],
): Promise<number | null> {
  const [first, second] = accounts;
  if (first === undefined) return operator.createAccount({ name: demoName, email: null });
  if (second !== undefined || first.name !== demoName) return null;
  return (await operator.readKeys(Number(first.id))).length === 0 ? Number(first.id) : null;
}
