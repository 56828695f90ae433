import type { Office } from './cli/office.ts';
import { krwOfMicro } from './money/krw.ts';

/** What the demo account begins with: ₩10,000. */
const bonus = krwOfMicro(10_000_000_000n);

/** The demo account's keys, in plaintext: shown once. */
export interface DemoAccount {
  readonly accountId: number;
  readonly inferenceKey: string;
  readonly managementKey: string;
}

/** Creates the demo account when there is no account at all; null when there is one. */
export async function createDemoAccount(office: Office): Promise<DemoAccount | null> {
  if ((await office.readAccounts()).length > 0) return null;
  const accountId = await office.createAccount({ name: 'demo', email: null });
  await office.grantCredit({
    accountId,
    kind: 'bonus',
    amount: bonus,
    expiresAtMs: null,
    idempotencyKey: 'demo-bonus',
    memo: 'welcome to Naru',
  });
  const unlimited = { accountId, limit: null, limitReset: 'never', expiresAtMs: null } as const;
  const inference = await office.createKey({ ...unlimited, kind: 'inference', name: 'demo' });
  const management = await office.createKey({ ...unlimited, kind: 'management', name: 'demo management' });
  return { accountId, inferenceKey: inference.plaintext, managementKey: management.plaintext };
}
