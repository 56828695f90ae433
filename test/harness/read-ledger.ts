import { type Krw, krwToDecimal, krwToNumber } from '../../src/money/krw.ts';
import { type GenerationUuid, generationIdOf } from '../../src/wire/ids/generation-id.ts';
import type { TestAccount, TestGateway } from './gateway.ts';

/** The ledger of one account, every amount as six-decimal won. */
export interface AccountLedger {
  /** What every ledger entry of kind `usage` moved, oldest first. */
  readonly debits: readonly string[];
  /** The generation of each of them. */
  readonly debitOf: readonly (string | null)[];
  readonly credits: string;
  readonly usage: string;
  /** All-time spend of the account's first key. */
  readonly keyUsage: string;
  /** Every generation record, oldest first. */
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into records as a client would.
  readonly records: readonly any[];
}

/**
 * Reads the ledger after everything settled so far has reached the database, bypassing the memory
 * of the gateway.
 */
export async function ledgerOf(naru: TestGateway, account: TestAccount): Promise<AccountLedger> {
  await naru.settled();
  const entries = await Array.fromAsync(naru.operator.exportEntries(account.accountId));
  const records = await Array.fromAsync(naru.operator.exportGenerations(account.accountId));
  const row = await naru.operator.readAccount(account.accountId);
  const key = await naru.operator.readKey(account.hash);
  if (row === null || key === null) throw new Error('no such account');
  const spend = await naru.operator.readSpend(key);
  const usages = entries.filter((entry) => entry.kind === 'usage');
  return {
    debits: usages.map((entry) => krwToDecimal(-entry.amountMicro as Krw)),
    debitOf: usages.map(({ generationUuid: uuid }) =>
      uuid === null ? null : generationIdOf(uuid as GenerationUuid),
    ),
    credits: krwToDecimal(row.credits as Krw),
    usage: krwToDecimal(row.usage as Krw),
    keyUsage: krwToDecimal(spend.total as Krw),
    records,
  };
}

/** The JSON number of six-decimal won. */
export function numberOf(decimal: string): number {
  return krwToNumber(BigInt(decimal.replace('.', '')) as Krw);
}

/** Every row of every table as text: to search for what must not be stored. */
export async function dumpOf(naru: TestGateway): Promise<string> {
  await naru.settled();
  const tables = await naru.database.query<{ name: string }>(
    "SELECT quote_ident(tablename) AS name FROM pg_tables WHERE schemaname = 'public' ORDER BY 1",
  );
  const texts: string[] = [];
  for (const { name } of tables) {
    const rows = await naru.database.query<{ text: string }>(
      `SELECT row_to_json(t)::text AS text FROM ${name} t`,
    );
    texts.push(`${name}: ${rows.map((row) => row.text).join('\n')}`);
  }
  return texts.join('\n');
}
