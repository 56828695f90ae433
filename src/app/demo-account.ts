import { lockFirstAccounts } from '../accounts/accounts-sql.ts';
import { krwOfMicro } from '../money/krw.ts';
import type { OperatorService } from '../operations/operator-service.ts';
import type { Database } from '../store/database.ts';

/** The initial credit of the demo account: ₩10,000. */
const bonus = krwOfMicro(10_000_000_000n);
const demoName = 'demo';

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
  return database.transaction(async (sql) => create(operator, await lockFirstAccounts(sql)));
}

async function create(
  operator: OperatorService,
  accounts: readonly NamedAccount[],
): Promise<DemoAccount | null> {
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

interface NamedAccount {
  readonly id: number;
  readonly name: string;
}

async function unfinished(
  operator: OperatorService,
  accounts: readonly NamedAccount[],
): Promise<number | null> {
  const [first, second] = accounts;
  if (first === undefined) return operator.createAccount({ name: demoName, email: null });
  if (second !== undefined || first.name !== demoName) return null;
  return (await operator.readKeys(first.id)).length === 0 ? first.id : null;
}
