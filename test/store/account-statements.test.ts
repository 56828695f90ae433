/**
 * Every SQL text is read: one that touches a table of accounts names the account, so that an engine
 * that distributes these tables needs one shard for it. The others are listed with a reason.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Database } from '../../src/store/database.ts';
import { readAccountTables } from '../../src/store/placement/distribution.ts';
import { createTestDatabase, type TestDatabase } from '../harness/database.ts';

let testDatabase: TestDatabase;
let database: Database;
let accountTables: readonly string[];
before(async () => {
  testDatabase = await createTestDatabase();
  database = new Database(testDatabase.address);
  accountTables = await readAccountTables(database);
});
after(async () => {
  await database?.close();
  await testDatabase?.drop();
});

const root = join(import.meta.dirname, '../../src');

/** Of a distributed table that has `account_id` elsewhere in its primary key: why. */
const notFirst: Readonly<Record<string, string>> = {
  pruned_usage_hour: 'read by hour, of all accounts, when a dropped month is rolled up again',
};

/** Tables with a column `account_id` that are not distributed by it, and why. */
const notDistributed: Readonly<Record<string, string>> = {
  audit_entry: 'the log of operators, in one order',
  key_directory: 'finds the account of a key',
  message_event: 'numbered, and one for each cause, over all accounts',
  one_time_link: 'sign-in: found by its hash',
  owner: 'sign-in: found by the address',
  page_session: 'sign-in: found by its hash',
  payment_order: 'found by its order id; a payment pays one order of all accounts',
  quarantined_settlement: 'numbered without gaps over all accounts; found by its generation',
  topup_request: 'a bank reference pays one request of all accounts',
};

const verification = 'compares every row of the ledger';
const rollup = 'sums the usage of all accounts by hour, in a job';
/** Files whose statements read all accounts, and why. */
const fanOutFiles: Readonly<Record<string, string>> = {
  'generations/analytics/facts-sql.ts': rollup,
  'generations/analytics/rolled-rows-sql.ts': rollup,
  'generations/analytics/rolling-sql.ts': rollup,
  'generations/analytics/usage-facts-sql.ts': rollup,
  'generations/search-all-sql.ts': 'an operator searches the requests of all accounts',
  'ledger/liability-sql.ts': 'what operators owe to all accounts',
  'ledger/retention-sql.ts': 'drops a month of all accounts',
  'ledger/verification-sql.ts': verification,
  'messages/watch-sql.ts': 'looks for low balances and keys near their limits, in a job',
  'store/digests.ts': verification,
  'store/snapshot.ts': 'copies every row',
};

/** Other statements that read several accounts: the start of their text, and why. */
const fanOuts: Readonly<Record<string, string>> = {
  'DELETE FROM spend_share WHERE node_id = $1': 'the leases of a node that ends',
  'SELECT DISTINCT node_id FROM spend_share': 'the nodes that have leases, once a minute',
  'SELECT DISTINCT account_id FROM credit_lot WHERE remaining > 0': 'the job that expires credit',
  'SELECT floor(extract(epoch FROM statement_timestamp())': 'the job that expires credit',
};

interface Text {
  readonly file: string;
  /** White space is one space; constants of the same file are filled in. */
  readonly sql: string;
}

const literal = /`(?:[^`\\]|\\.)*`|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"/g;

function textsOf(file: string): readonly Text[] {
  const source = readFileSync(join(root, file), 'utf8').replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
  const constants = new Map<string, string>();
  for (const [, name = '', value = ''] of source.matchAll(
    /const (\w+)(?:: \w+)? =\s+(`(?:[^`\\]|\\.)*`|'(?:[^'\\\n]|\\.)*')/g,
  ))
    constants.set(name, value.slice(1, -1));
  const used = new Set<string>();
  const filled = (text: string, depth = 0): string =>
    text.replace(/\$\{(\w+)\}/g, (whole, name: string) => {
      const value = constants.get(name);
      if (value === undefined || depth > 4) return whole;
      used.add(value);
      return filled(value, depth + 1);
    });
  const found = [...source.matchAll(literal)].map(([text]) => text.slice(1, -1));
  const texts = found.map((text) => filled(text));
  // A constant that is part of other texts is checked there.
  return texts.flatMap((text, at) =>
    used.has(found[at] ?? '') ? [] : [{ file, sql: text.replace(/\s+/g, ' ').trim() }],
  );
}

/** A condition on the account: a parameter or a joined column. */
const naming = /\baccount_id (?:= |IN )|\(account_id, \w+\) >|USING \(account_id/;

const texts = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .flatMap(textsOf);

test('a statement on a table of accounts names the account, or is a fan-out with a reason', () => {
  const touched = new RegExp(`\\b(?:FROM|JOIN|UPDATE|USING) (?:${accountTables.join('|')})\\b`);
  const wide = texts.filter(({ sql }) => touched.test(sql) && !naming.test(sql));
  const unlisted = wide.filter(
    ({ file, sql }) =>
      fanOutFiles[file] === undefined && !Object.keys(fanOuts).some((start) => sql.startsWith(start)),
  );
  assert.deepEqual(unlisted, []);
  for (const start of Object.keys(fanOuts))
    assert.ok(
      wide.some(({ sql }) => sql.startsWith(start)),
      `no statement begins with: ${start}`,
    );
  for (const file of Object.keys(fanOutFiles))
    assert.ok(
      texts.some((text) => text.file === file && /SELECT|FROM/.test(text.sql)),
      `${file} has no statement`,
    );
});

test('every subquery has a column: an engine that runs it by itself cannot take one without', () => {
  const wrong = texts.filter(({ sql }) => /\( ?SELECT FROM/.test(sql) && !/pg_\w+ /.test(sql));
  assert.deepEqual(wrong, []);
});

test('an INSERT into a table of accounts states the account', () => {
  const into = new RegExp(`^(?:WITH .*)?INSERT INTO (?:${accountTables.join('|')}) (?:AS \\w+ )?\\(`);
  const wrong = texts.filter(
    ({ sql }) =>
      into.test(sql) && !/INSERT INTO \w+ (?:AS \w+ )?\((?:month, |hash, )?(?:\$\{|account_id)/.test(sql),
  );
  assert.deepEqual(wrong, []);
});

test('every table with accounts has account_id first in its primary key, or a reason', async () => {
  const rows = await database.query<{ name: string; first: string | null }>(
    `SELECT c.relname AS name, (
       SELECT a.attname FROM pg_index i JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0]
       WHERE i.indrelid = c.oid AND i.indisprimary) AS first
     FROM pg_class c
     WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
       AND EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'account_id' AND NOT a.attisdropped)
     ORDER BY 1`,
  );
  const distributed = rows.filter(({ name }) => notDistributed[name] === undefined);
  assert.deepEqual(
    distributed.filter(({ name, first }) => first !== 'account_id' && notFirst[name] === undefined),
    [],
  );
  assert.deepEqual(
    distributed.map(({ name }) => name),
    accountTables,
    'a new table of accounts is distributed with them',
  );
  const names = new Set(rows.map(({ name }) => name));
  for (const name of Object.keys(notDistributed)) assert.ok(names.has(name), `${name} has no account_id`);
});
