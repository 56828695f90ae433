import { type SettlementRow, settleBatch } from '../../src/ledger/settlement-sql.ts';
import {
  type Anchor,
  type Difference,
  findDifferencesOfAccounts,
  findDifferencesOfAll,
  VerifySteps,
} from '../../src/ledger/verification-sql.ts';
import { krwOfMicro } from '../../src/money/krw.ts';
import type { OperatorService } from '../../src/operations/operator-service.ts';
import type { Database } from '../../src/store/database.ts';
import type { Sql } from '../../src/store/sql.ts';
import { isoOf, systemClock } from '../../src/time/clock.ts';
import { openTestDatabase } from '../harness/database.ts';
import { liftGuards, runEach } from '../harness/ledger-guards.ts';
import { operatorOn } from '../harness/payer.ts';
import { insertPrice } from '../harness/price.ts';
import { settlementAt } from '../harness/settlement.ts';
import { TestClock } from '../harness/test-clock.ts';

/** A ledger with one account and one key, without a gateway around it. */
export interface LedgerWorld {
  readonly database: Database;
  readonly operator: OperatorService;
  readonly clock: TestClock;
  readonly accountId: number;
  readonly keyId: number;
  /** Another account with a key. */
  addPayer(name: string): Promise<{ readonly accountId: number; readonly keyId: number }>;
  /** Adds credit in micro-won. */
  grant(
    amount: bigint,
    options?: { readonly expiresAtMs?: number; readonly idempotencyKey?: string },
  ): ReturnType<OperatorService['grantCredit']>;
  /** A generation of this cost that is about to be settled now; its price produces the cost. */
  generation(cost: bigint, laid?: Partial<SettlementRow>): SettlementRow;
  settle(...rows: readonly SettlementRow[]): ReturnType<typeof settleBatch>;
  /** The money of the account, micro-won. */
  money(): Promise<{ readonly credits: bigint; readonly usage: bigint; readonly balance: bigint }>;
  /** Amounts of every entry of the account in order. */
  entries(): Promise<
    readonly { readonly kind: string; readonly amount: bigint; readonly generation: string | null }[]
  >;
  /** What the verification finds. */
  differences(): Promise<readonly string[]>;
  /** How much the verification finds after this statement, which does not stay. */
  differencesAfter(fault: string): Promise<number>;
}

/** What a verification finds in a transaction. */
export async function findDifferences(
  sql: Sql,
  anchors: ReadonlyMap<number, Anchor> = new Map(),
): Promise<readonly Difference[]> {
  const steps = new VerifySteps();
  return [
    ...(await findDifferencesOfAll(sql, steps)),
    ...(await findDifferencesOfAccounts(sql, { anchors, entries: 0 }, steps)),
  ];
}

/** One micro-won per prompt token: a generation costs as many micro-won as it has tokens. */
const microPerToken = 1_000_000n;

/** `t` is a test, or anything that runs what it is given when the ledger is no longer needed. */
export async function openLedger(t: {
  readonly after: (end: () => Promise<void>) => void;
}): Promise<LedgerWorld> {
  const database = await openTestDatabase(t, { poolSize: 8 });
  const clock = new TestClock();
  const operator = operatorOn(database, clock);
  const addPayer = async (name: string): Promise<{ accountId: number; keyId: number }> => {
    const accountId = await operator.createAccount({ name, email: null });
    const { hash } = await operator.createKey({
      accountId,
      kind: 'inference',
      name: 'key',
      limit: null,
      limitReset: 'never',
      expiresAtMs: null,
    });
    return { accountId, keyId: (await operator.readKey(hash))?.id ?? 0 };
  };
  // The payer is older than every instant that a test sets the clock to.
  clock.set('2020-01-01T00:00:00+09:00');
  const { accountId, keyId } = await addPayer('contract');
  clock.set(isoOf(systemClock.now()));
  const price = {
    prompt: microPerToken,
    completion: 0n,
    request: 0n,
    cacheRead: microPerToken,
    cacheWrite: microPerToken,
  };
  const priceVersion = await insertPrice(database, price);
  return {
    database,
    operator,
    clock,
    accountId,
    keyId,
    addPayer,
    grant: (amount, options = {}) =>
      operator.grantCredit({
        accountId,
        kind: 'topup',
        amount: krwOfMicro(amount),
        expiresAtMs: options.expiresAtMs ?? null,
        idempotencyKey: options.idempotencyKey ?? null,
        memo: null,
      }),
    generation(cost, laid = {}) {
      const served = { model: 'test/model', provider: 'test', priceVersion };
      const tokens = { promptTokens: Number(cost), completionTokens: 1 };
      return settlementAt(clock.now(), { accountId, keyId, cost, ...served, ...tokens, ...laid });
    },
    settle: (...rows) =>
      database.serial.run((_sql, client) => settleBatch(client, rows, { nowMs: clock.now() })),
    async money() {
      const row = await operator.readAccount(accountId);
      if (row === null) throw new Error('no account');
      return { credits: row.credits, usage: row.usage, balance: row.credits - row.usage };
    },
    async entries() {
      const rows = await Array.fromAsync(operator.exportEntries(accountId));
      return rows.map(({ kind, amountMicro, generationUuid }) => ({
        kind,
        amount: amountMicro,
        generation: generationUuid,
      }));
    },
    async differences() {
      return (await operator.verifyLedger()).differences.map(({ check, subject }) => `${check}: ${subject}`);
    },
    async differencesAfter(fault) {
      const undone = database.transaction(async (sql) => {
        await runEach(sql, liftGuards);
        await runEach(sql, fault);
        throw Object.assign(new Error('undo'), { found: (await findDifferences(sql)).length });
      });
      return undone.catch((error: { found?: number }) => {
        if (error.found === undefined) throw error;
        return error.found;
      });
    },
  };
}
