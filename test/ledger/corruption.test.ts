import assert from 'node:assert/strict';
import { test } from 'node:test';
import { insertPublication } from '../../src/catalogue/publications-sql.ts';
import { ensurePartitions } from '../../src/generations/partitions.ts';
import { expireCredit } from '../../src/ledger/credit.ts';
import { insertPaymentOrder } from '../../src/ledger/payment-orders-sql.ts';
import { resolveQuarantined, storeQuarantined } from '../../src/ledger/quarantine-sql.ts';
import { requestTopup } from '../../src/ledger/topup-requests.ts';
import { krwOfMicro } from '../../src/money/krw.ts';
import { paymentOperations } from '../../src/operations/payment-operations.ts';
import type { Payment } from '../../src/operations/payment-provider.ts';
import type { Sql } from '../../src/store/sql.ts';
import { seoulDayAt } from '../../src/time/period.ts';
import { unlessDistributed } from '../harness/citus.ts';
import { liftGuards, runEach, tamper } from '../harness/ledger-guards.ts';
import { sample } from '../harness/tier.ts';
import { findDifferences, type LedgerWorld, openLedger } from './world.ts';

// src/ledger/README.md

/** The tables of the ledger, and which of their columns are not part of it, with the reason. */
const accounting: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  account: {
    name: 'what the operator calls it, and may change',
    email: 'what the operator knows of it, and may change',
    business_number: 'what the operator knows of it, and may change',
    suspended_at: 'whether its keys may call; no money depends on it',
    suspend_reason: 'what the operator wrote about it',
    closed_at: 'whether it is in use; no money depends on it',
    created_at: 'no sum depends on it, and the account is in each of its entries by number',
  },
  account_balance: { version: 'orders what a process knows of the row; it counts no money' },
  app: {
    name: 'what clients call themselves',
    url: 'what clients call themselves',
    first_seen_at: 'for display',
  },
  catalogue_edition: {},
  catalogue_head: {},
  credit_lot: {},
  generation: {},
  key_usage_day: {},
  ledger: {},
  price_version: {},
  pruned_month: {},
  pruned_usage: {},
  quarantine_head: {},
  payment_order: {
    id: 'orders the list',
    state: 'what the provider stated; the entries of the payment have the money',
    created_at: 'for display',
    looked_at: 'when the provider was asked last',
    paid_at: 'for display',
    failure: 'what the provider stated',
  },
  topup_request: {
    depositor: 'what the owner wrote',
    note: 'what the owner wrote',
    requested_at: 'for display',
    decided_at: 'for display',
    decided_by: 'for display; the audit log has the act',
    reason: 'what a person wrote about the decision',
  },
  quarantined_settlement: {
    reason: 'the last error of the database; a retry changes it',
    attempts: 'for display; a retry changes it',
    resolution: 'what a person decided; compared with the generations and their entries',
    resolved_at: 'for display',
    note: 'what a person wrote about the decision',
  },
};

/** A ledger with a row of every kind in each table. */
async function fullLedger(t: Parameters<typeof openLedger>[0]): Promise<LedgerWorld> {
  const ledger = await openLedger(t);
  const { clock, database, operator, accountId } = ledger;
  clock.freeze('2026-02-10T12:00:00+09:00');
  await ensurePartitions(database, clock.now());
  const app = { id: 7, name: 'an app', url: 'https://app.example' };
  await ledger.grant(1_000n, { idempotencyKey: 'first' });
  // Their month is dropped below.
  await ledger.settle(
    ledger.generation(10n, { app }),
    ledger.generation(20n),
    ledger.generation(0n, { status: 502, errorType: 'provider_error', model: null }),
  );
  clock.freeze('2026-06-10T12:00:00+09:00');
  await ensurePartitions(database, clock.now());
  await operator.pruneGenerations({ beforeMs: Date.parse('2026-03-01T00:00:00+09:00'), dryRun: false });
  await ledger.grant(300n, { expiresAtMs: clock.now() + 1_000 });
  await ledger.grant(200n, { expiresAtMs: clock.now() + 1_000 });
  await operator.grantCredit({
    accountId,
    kind: 'bonus',
    amount: krwOfMicro(50n),
    expiresAtMs: clock.now() + 86_400_000,
    idempotencyKey: null,
    memo: 'welcome',
  });
  const billed = ledger.generation(333n, {
    app,
    detail: '{"cache_read_tokens": 3, "ü": "\\u2028 \\"x\\""}',
    finishReason: 'a "quoted"\treason\u007f',
    model: '모델/하나',
  });
  await ledger.settle(
    billed,
    ledger.generation(44n),
    ledger.generation(0n, { app }),
    ledger.generation(0n, { status: 400, errorType: 'invalid_request', model: null, provider: null }),
  );
  await operator.refundGeneration({
    generation: billed.uuid as never,
    amount: krwOfMicro(33n),
    reason: 'r',
    toKeyLimit: true,
    idempotencyKey: 'back',
  });
  for (const amount of [5n, -6n])
    await operator.adjustCredit({ accountId, amount: krwOfMicro(amount), reason: 'j', idempotencyKey: null });
  await expireCredit(database, clock.now() + 2_000);
  await ledger.settle(ledger.generation(1n));
  const [price] = await database.query<{ id: bigint }>('SELECT id FROM price_version');
  for (const model of ['a', 'b'])
    await database.transaction((sql) =>
      insertPublication(sql, [{ model, candidate: 'c', priceVersion: Number(price?.id) }], clock.now()),
    );
  // Settlements that the database rejected, all decided: an open one is a difference by itself.
  for (const uuid of ['a', 'b'].map((digit) => digit.repeat(32))) {
    const refused = { uuid, accountId, keyId: 1, cost: 7n, record: Buffer.from('{}'), reason: 'no' };
    await database.transaction((sql) => storeQuarantined(sql, refused));
    await database.transaction((sql) => resolveQuarantined(sql, uuid, 'written off', 'x'));
  }
  // One that was charged later, and one that was written off and is recorded as failed.
  const failed = ledger.generation(0n, { status: 500, errorType: 'server' });
  await ledger.settle(failed);
  for (const { uuid, cost } of [billed, { ...failed, cost: 7n }]) {
    const refused = { uuid, accountId, keyId: 1, cost, record: Buffer.from('{}'), reason: 'no' };
    await database.transaction((sql) => storeQuarantined(sql, refused));
    await database.transaction((sql) =>
      cost === billed.cost
        ? resolveQuarantined(sql, uuid, 'settled', null)
        : resolveQuarantined(sql, uuid, 'written off', 'x'),
    );
  }
  // A second account, so that rows can belong to another one.
  const other = await operator.createAccount({ name: 'other', email: null });
  const grant = { kind: 'topup', expiresAtMs: null, idempotencyKey: 'first', memo: null } as const;
  await operator.grantCredit({ ...grant, accountId: other, amount: krwOfMicro(1_000n) });
  for (const bankReference of ['T-1', 'T-2']) {
    const order = { accountId, amount: krwOfMicro(40n), depositor: null, note: null };
    const requested = await requestTopup(database, order, clock.now());
    const id = 'request' in requested ? requested.request.id : 0;
    await operator.confirmTopup({ id, bankReference });
  }
  await payByCard(ledger);
  assert.deepEqual(await ledger.differences(), []);
  return ledger;
}

/** A payment of which a part was canceled, as its provider states it. */
async function payByCard({ database, clock, operator: { actor }, accountId }: LedgerWorld): Promise<void> {
  const order = { accountId, orderId: 'pay_1', amountMicro: 9n, createdAtMs: clock.now() };
  await insertPaymentOrder(database, order);
  const payment: Payment = {
    id: 'key',
    orderId: order.orderId,
    amount: krwOfMicro(9n),
    currency: 'KRW',
    state: 'paid',
    failure: null,
    cancellations: [{ id: 'c1', amount: krwOfMicro(4n) }],
  };
  const states = async (): Promise<Payment> => payment;
  const create = async () => ({ id: payment.id, checkoutUrl: '' });
  const provider = { create, confirm: states, find: states, cancel: states };
  const payments = { ...provider, amounts: [], orderOfWebhook: () => null };
  const settled = await paymentOperations({ database, clock, actor, payments }).settlePayment(order.orderId);
  assert.equal(settled.kind, 'done');
}

interface Column {
  readonly table: string;
  readonly column: string;
  readonly type: string;
  readonly isNullable: boolean;
}

async function columnsOf(sql: Sql): Promise<readonly Column[]> {
  const rows = await sql.query<{ table: string; column: string; type: string; nullable: string }>(
    `SELECT table_name AS table, column_name AS column, data_type AS type, is_nullable AS nullable FROM information_schema.columns
     WHERE table_schema = 'public' AND table_name = ANY ($1) ORDER BY 1, ordinal_position`,
    [Object.keys(accounting)],
  );
  return rows.map(({ nullable, ...row }) => ({ ...row, isNullable: nullable === 'YES' }));
}

/** Another value of the column, as SQL. */
function changed({ column, type }: Column): string {
  switch (type) {
    case 'bigint':
    case 'numeric':
    case 'integer':
    case 'smallint':
      return `coalesce(${column}, 0) + 1`;
    case 'text':
      return `coalesce(${column}, '') || 'x'`;
    case 'uuid':
      return `overlay(coalesce(${column}, gen_random_uuid())::text placing CASE WHEN right(${column}::text, 1) = '0' THEN '1' ELSE '0' END from 36)::uuid`;
    case 'date':
      return `coalesce(${column}, date '2026-01-01') + 1`;
    case 'timestamp with time zone':
      return `coalesce(${column}, now()) + interval '1 microsecond'`;
    case 'json':
    case 'jsonb':
      return `'[{"model":"x","candidate":"y","priceVersion":1}]'::${type}`;
    case 'bytea':
      return `${column} || '\\x00'::bytea`;
    default:
      throw new Error(`no other value of type ${type}`);
  }
}

/**
 * Runs statements and undoes them; returns whether a constraint of the database rejected them, or
 * what the verification found.
 */
async function foundAfter(ledger: LedgerWorld, ...statements: readonly string[]): Promise<number> {
  const undone = ledger.database.transaction(async (sql) => {
    await runEach(sql, liftGuards);
    for (const statement of statements) await runEach(sql, statement);
    throw Object.assign(new Error('undo'), { found: (await findDifferences(sql)).length });
  });
  return undone.catch((error: { readonly found?: number; readonly code?: string }) => {
    if (/^(22|23)/.test(error.code ?? '')) return 1;
    if (error.found === undefined) throw error;
    return error.found;
  });
}

const newest = (table: string, which: string): string =>
  `${table} WHERE ctid = (SELECT max(ctid) FROM ${table} WHERE account_id = 1 AND ${which}) AND account_id = 1`;
const changeOf = (table: string, which: string, set: string): string =>
  newest(table, which).replace(' WHERE', ` SET ${set} WHERE`);
const doubled = (table: string, index: string): string =>
  `ALTER TABLE ${table} DROP CONSTRAINT ${index}; INSERT INTO ${table} OVERRIDING SYSTEM VALUE SELECT * FROM ${table} WHERE account_id = 1 LIMIT 1`;
/** Corruptions that were once not found; the search by columns samples its rows. */
const onceMissed: Readonly<Record<string, string>> = {
  'a deleted balance': 'DELETE FROM account_balance WHERE account_id = 1',
  'the key of a charge': `UPDATE ${changeOf('ledger', 'kind = 3', 'key_id = key_id + 1')}`,
  'the kind of a grant': `UPDATE ${changeOf('ledger', 'kind = 1', 'kind = 2')}`,
  'the instant of a charge': `UPDATE ${changeOf('ledger', 'kind = 3', "created_at = created_at + interval '1 second'")}`,
  'the instant of an adjustment': `UPDATE ${changeOf('ledger', 'kind = 6', "created_at = created_at + interval '1 second'")}`,
  'an idempotency key': `UPDATE ${changeOf('ledger', 'idempotency_key IS NOT NULL', "idempotency_key = 'other'")}`,
  'the expiry of a lot': `UPDATE ${changeOf('credit_lot', 'expires_at IS NOT NULL', "expires_at = expires_at + interval '1 year'")}`,
  'an expiry of a lot that had none': `UPDATE ${changeOf('credit_lot', 'expires_at IS NULL', "expires_at = '2030-01-01'")}`,
  'a refused charge that was not charged':
    "UPDATE quarantined_settlement SET resolution = 'settled' WHERE cost = 7 AND generation_id IN (SELECT replace(id::text, '-', '') FROM generation)",
  'a refused charge that was charged although it was written off':
    "UPDATE quarantined_settlement SET resolution = 'written off', note = 'x' WHERE resolution = 'settled'",
  'usage that no entry explains':
    'ALTER TABLE account_balance DROP CONSTRAINT balance_is_credits_minus_usage; UPDATE account_balance SET usage = usage + 1 WHERE account_id = 1',
  'a balance that is there twice': doubled('account_balance', 'account_balance_pkey'),
  'a day of usage that is there twice': doubled('key_usage_day', 'key_usage_day_pkey'),
  'a key that is there twice': doubled('api_key', 'api_key_pkey'),
  'a top-up that is there twice': `DROP INDEX topup_request_id; DROP INDEX topup_request_bank_reference; ${doubled('topup_request', 'topup_request_pkey')}`,
  'a transfer that paid two requests':
    "DROP INDEX topup_request_bank_reference; UPDATE topup_request SET bank_reference = 'T-1'; UPDATE ledger SET memo = 'T-1' WHERE memo = 'T-2'",
  'the status of a request': `UPDATE ${changeOf('generation', 'cost = 0', 'status = status + 1')}`,
};

/** Up to five rows of a table that differ in kind, by their position. */
async function rowsOf({ database }: LedgerWorld, table: string): Promise<readonly string[]> {
  const kinds: Readonly<Record<string, string>> = {
    ledger: "kind || '/' || (amount > 0)",
    generation: "(cost > 0) || '/' || status",
    credit_lot: "kind || '/' || (remaining > 0) || '/' || (expires_at IS NULL)",
  };
  const rows = await database.query<{ location: string }>(
    `SELECT DISTINCT ON (${kinds[table] ?? 'ctid'}) format('tableoid = %s AND ctid = %L', tableoid, ctid) AS location
     FROM ${table} ORDER BY ${kinds[table] ?? 'ctid'}, tableoid, ctid DESC LIMIT ${kinds[table] === undefined ? 2 : 8}`,
  );
  assert.ok(rows.length > 0, `${table} has no rows`);
  return rows.map(({ location }) => location);
}

// security:42
test(
  'B5: The verification finds any single column of the ledger that was changed, and any row that was removed, added or swapped.',
  unlessDistributed('the engine changes no identity column'),
  async (t) => {
    const ledger = await fullLedger(t);
    const guarded = await ledger.database.query<{ name: string }>(
      `SELECT DISTINCT tgrelid::regclass::text AS name FROM pg_trigger JOIN pg_class c ON c.oid = tgrelid
       WHERE tgfoid = 'refuse_change'::regproc AND NOT c.relispartition`,
    );
    const isVerified = new Set([...Object.keys(accounting), 'audit_entry']);
    assert.deepEqual(
      guarded.filter(({ name }) => !isVerified.has(name)),
      [],
      'a table whose rows are kept by a trigger is verified',
    );
    const columns = await columnsOf(ledger.database);
    let tried = 0;
    for (const table of Object.keys(accounting)) {
      const own = columns.filter((each) => each.table === table);
      assert.ok(own.length > 0, `${table} has no columns`);
      const locations = await rowsOf(ledger, table);
      for (const location of sample(locations, 1)) {
        const statements = [`DELETE FROM ${table} WHERE ${location}`];
        for (const column of own) {
          if (accounting[table]?.[column.column] !== undefined) continue;
          const identity = `ALTER TABLE ${table} ALTER COLUMN ${column.column}`;
          const set = (value: string) => `UPDATE ${table} SET ${column.column} = ${value} WHERE ${location}`;
          const isIdentity =
            column.column === 'id' &&
            ['account', 'credit_lot', 'price_version', 'catalogue_edition', 'topup_request'].includes(table);
          statements.push(`${isIdentity ? `${identity} DROP IDENTITY; ` : ''}${set(changed(column))}`);
          if (column.isNullable) {
            const [{ empty } = { empty: true }] = await ledger.database.query<{ empty: boolean }>(
              `SELECT ${column.column} IS NULL AS empty FROM ${table} WHERE ${location}`,
            );
            if (!empty) statements.push(set('NULL'));
          }
        }
        // The removal, the last column and two between them; the full tier has each column.
        for (const statement of sample(statements, 4)) {
          assert.ok((await foundAfter(ledger, statement)) > 0, `not found: ${statement}`);
          tried += 1;
        }
      }
    }
    t.diagnostic(`${tried} corruptions`);

    const names = (table: string, ...without: readonly string[]): string =>
      columns
        .filter((each) => each.table === table && !without.includes(each.column))
        .map((each) => each.column)
        .join(', ');
    const usage = 'ctid = (SELECT max(ctid) FROM ledger WHERE kind = 3 AND account_id = 1)';
    const added: readonly string[] = [
      `INSERT INTO ledger (id, generation_id, ${names('ledger', 'id', 'generation_id')}) SELECT id + 1, gen_random_uuid(), ${names('ledger', 'id', 'generation_id')} FROM ledger WHERE ${usage}`,
      'INSERT INTO ledger (account_id, id, kind, amount, memo, created_at, link_rest) SELECT account_id, entries + 1, 6, 5, $$m$$, now(), 0 FROM account_balance WHERE account_id = 1',
      'INSERT INTO account_balance (account_id) VALUES (99)',
      `INSERT INTO credit_lot (account_id, kind, amount, remaining, granted_at) VALUES (1, 1, 5, 0, now())`,
      `INSERT INTO generation (id, ${names('generation', 'id')}) SELECT overlay(id::text placing 'ffff' from 33)::uuid, ${names('generation', 'id')} FROM generation WHERE cost = 0 LIMIT 1`,
      `INSERT INTO price_version (${names('price_version', 'id')}) SELECT ${names('price_version', 'id')} FROM price_version LIMIT 1`,
      `INSERT INTO catalogue_edition (${names('catalogue_edition', 'id')}) SELECT ${names('catalogue_edition', 'id')} FROM catalogue_edition LIMIT 1`,
      "INSERT INTO key_usage_day (account_id, key_id, day) VALUES (1, 5, '2026-06-11')",
      `INSERT INTO quarantined_settlement (${names('quarantined_settlement', 'number', 'generation_id')}, number, generation_id)
     SELECT ${names('quarantined_settlement', 'number', 'generation_id')}, 5, 'c' FROM quarantined_settlement LIMIT 1`,
      "UPDATE quarantined_settlement SET resolution = 'settled'",
      'DELETE FROM quarantined_settlement',
      'DELETE FROM quarantined_settlement WHERE number = 4; UPDATE quarantine_head SET refused = 3',
    ];
    for (const [what, statement] of Object.entries(onceMissed))
      assert.ok((await foundAfter(ledger, statement)) > 0, `not found: ${what}`);
    for (const statement of added)
      assert.ok((await foundAfter(ledger, statement)) > 0, `not found: ${statement}`);

    /** Swaps the values of two rows of an account, except the columns to keep. */
    const swap = async (table: string, which: string, ...keep: readonly string[]): Promise<string> => {
      const rows = await ledger.database.query<{ id: string }>(
        `SELECT quote_literal(id::text) AS id FROM ${table} WHERE account_id = 1 AND ${which} ORDER BY id LIMIT 2`,
      );
      assert.equal(rows.length, 2, `${table} has two such rows`);
      const pair = rows.map(({ id }) => id).join(', ');
      const set = names(table, 'account_id', 'id', ...keep).replaceAll(/\w+/g, '$& = o.$&');
      return `UPDATE ${table} t SET ${set} FROM ${table} o
            WHERE t.account_id = 1 AND o.account_id = 1 AND t.id IN (${pair}) AND o.id IN (${pair}) AND o.id <> t.id`;
    };
    const swaps = [
      // The unique indexes check each row: unique columns stay.
      await swap('ledger', 'kind = 1', 'idempotency_key', 'generation_id'),
      await swap('ledger', 'kind = 3 AND record_digest IS NOT NULL', 'generation_id'),
      await swap('credit_lot', 'amount IN (200, 300)'),
      await swap('generation', 'cost = 0'),
      await swap('generation', 'cost > 0'),
    ];
    for (const statement of swaps)
      assert.ok((await foundAfter(ledger, statement)) > 0, `not found: ${statement}`);
    // What is left of two lots, exchanged: every sum stays as it was.
    const lots =
      'account_id = 1 AND id IN (SELECT id FROM credit_lot WHERE account_id = 1 AND amount > 5 ORDER BY remaining DESC LIMIT 2)';
    assert.ok(
      (await foundAfter(
        ledger,
        `UPDATE credit_lot SET remaining = remaining - 1 WHERE id = (SELECT max(id) FROM credit_lot WHERE ${lots})`,
        `UPDATE credit_lot SET remaining = remaining + 1 WHERE id = (SELECT min(id) FROM credit_lot WHERE ${lots})`,
      )) > 0,
    );
  },
);

// security:42
test('B6: A backup from before finds a ledger that was rewritten as a whole, with its chains.', async (t) => {
  const ledger = await openLedger(t);
  await ledger.grant(1_000n);
  await ledger.settle(ledger.generation(10n), ledger.generation(20n));
  const [head] = await ledger.database.query<{ entries: bigint; chain: Buffer }>(
    'SELECT entries, chain FROM account_balance WHERE account_id = $1',
    [ledger.accountId],
  );
  assert.ok(head !== undefined);
  const anchors = new Map([[ledger.accountId, head]]);
  await ledger.settle(ledger.generation(30n));
  const differences = () => ledger.database.transaction((sql) => findDifferences(sql, anchors));
  assert.deepEqual(await differences(), []);
  // An attacker with every right creates the account again, with the program's own functions.
  for (const table of ['ledger', 'generation', 'credit_lot', 'key_usage_day'])
    await tamper(ledger.database, `DELETE FROM ${table}`);
  await tamper(
    ledger.database,
    "UPDATE account_balance SET balance = 0, credits = 0, usage = 0, lot_applied = 0, entries = 0, chain = ''",
  );
  assert.ok((await differences()).length > 0, 'without an entry');
  await ledger.grant(2_000n);
  assert.ok((await differences()).length > 0, 'with fewer entries than before');
  await ledger.settle(
    ledger.generation(10n, { day: seoulDayAt(ledger.clock.now()) }),
    ledger.generation(20n),
  );
  assert.deepEqual(await ledger.differences(), [], 'in itself it is whole');
  assert.ok((await differences()).length > 0);
});
