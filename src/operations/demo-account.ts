import { lockFirstAccounts } from '../accounts/accounts-sql.ts';
import { hasKeys } from '../accounts/keys-sql.ts';
import type { Actor } from '../identity/audit.ts';
import type { NewLink } from '../identity/links-sql.ts';
import { krwOfMicro } from '../money/krw.ts';
import type { Database } from '../store/database.ts';
import type { OperatorService } from './operator-service.ts';

/** The initial credit of the demo account: ₩10,000. */
const bonus = krwOfMicro(10_000_000_000n);
const demoName = 'demo';
/** Who made the account and the links, for the audit log. */
const firstStart: Actor = { kind: 'cli', name: 'naru up' };

/** The demo account's keys in plaintext and the links of the first start, shown once. */
export interface DemoAccount {
  readonly accountId: number;
  readonly inferenceKey: string;
  readonly managementKey: string;
  /** Signs in to the dashboard of the account. */
  readonly dashboardLink: NewLink;
  /** Signs in to the console; null when there are operators already. */
  readonly consoleLink: NewLink | null;
}

/**
 * Creates the demo account when there are no accounts, and completes one without keys after a
 * killed first start; null when there is nothing to do.
 */
export async function createDemoAccount(
  service: OperatorService,
  database: Database,
): Promise<DemoAccount | null> {
  // Who has keys needs no demo account, and no start that reads the accounts of all servers.
  if (await hasKeys(database)) return null;
  const operator = service.as(firstStart);
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
  const { links, operators } = operator.identity;
  const admin = await operators.only(firstStart);
  return {
    accountId,
    inferenceKey: inference.plaintext,
    managementKey: management.plaintext,
    dashboardLink: await links.openAccount(accountId, firstStart),
    consoleLink: admin === 'several' ? null : await links.openConsole(admin, firstStart),
  };
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
