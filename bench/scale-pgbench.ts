import { execFile } from 'node:child_process';
import { existsSync, globSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { entryKindNumber } from '../src/ledger/ledger-sql.ts';
import type { DatabaseAddress } from '../src/store/connection.ts';
import { ACCOUNTS, settlement } from './scale-rows.ts';

const run = promisify(execFile);

/** The host's own pgbench; null when there is none. */
export function findPgbench(): string | null {
  const all = [...globSync('/usr/lib/postgresql/*/bin/pgbench').toSorted().toReversed(), '/usr/bin/pgbench'];
  return all.find((path) => existsSync(path)) ?? null;
}

const row = settlement(1, 0);
/**
 * Values that differ for each request are parameters of the prepared statement, as from a program:
 * above all the detail, which the server would otherwise parse as JSON once for each connection.
 */
const variables = {
  model: row.model ?? '',
  provider: row.provider ?? '',
  finish: row.finishReason ?? '',
  prompt: String(row.promptTokens),
  completion: String(row.completionTokens),
  cost: String(row.cost),
  price: String(row.priceVersion),
  app: String(row.app?.id),
  detail: row.detail,
};
const draw = `\\set a random(1, ${ACCOUNTS})\n\\set k :a * 2 + random(0, 1)`;
const insert =
  "INSERT INTO generation (account_id, id, key_id, created_at, settled_at, day, status, error_type, model, provider, finish_reason, prompt_tokens, completion_tokens, cost, price_version, detail, app_id) VALUES (:a, uuidv7(), :k, now() - interval '1.5 s', now(), current_date, 200, NULL, :model, :provider, :finish, :prompt, :completion, :cost, :price, :detail, :app);";

const whole = [
  insert,
  'UPDATE account_balance SET balance = balance - :cost, usage = usage + :cost, entries = entries + 1, version = version + 1, chain = sha256(chain || sha256(convert_to(account_id::text, $$UTF8$$))) WHERE account_id = :a RETURNING account_id, credits, usage, version;',
  `INSERT INTO ledger (account_id, id, kind, amount, generation_id, key_id, created_at, record_digest, link_rest) SELECT :a, entry_base + entries, ${entryKindNumber('usage')}, - (:cost::bigint), uuidv7(), :k, now(), 1, 0 FROM account_balance WHERE account_id = :a;`,
  'INSERT INTO key_usage_day AS t (account_id, key_id, day, cost, requests, prompt_tokens, completion_tokens) VALUES (:a, :k, current_date, :cost, 1, :prompt, :completion) ON CONFLICT (account_id, key_id, day) DO UPDATE SET cost = t.cost + excluded.cost, requests = t.requests + excluded.requests, prompt_tokens = t.prompt_tokens + excluded.prompt_tokens, completion_tokens = t.completion_tokens + excluded.completion_tokens;',
];

const scripts = {
  /** Everything that a settlement writes, one transaction for each request. */
  whole: [draw, 'BEGIN;', ...whole, 'END;'],
  /** The same with the statements of a transaction sent together. */
  pipelined: [draw, '\\startpipeline', 'BEGIN;', ...whole, 'END;', '\\endpipeline'],
  /** The record alone. */
  single: [draw, insert],
} as const;

/** Transactions a second of pgbench with prepared statements. */
export async function pgbench(
  program: string,
  address: DatabaseAddress,
  what: keyof typeof scripts,
  at: { readonly clients: number; readonly seconds: number; readonly folder: string },
): Promise<number> {
  const file = join(at.folder, `${what}.sql`);
  writeFileSync(file, `${scripts[what].join('\n')}\n`);
  const { host = '', port = 5432, user = '', database = '' } = address;
  const { stdout } = await run(
    program,
    [
      ...['-n', '-M', 'prepared', '-f', file, '-T', String(at.seconds)],
      ...['-c', String(at.clients), '-j', String(Math.min(2, at.clients))],
      ...Object.entries(variables).flatMap(([name, value]) => ['-D', `${name}=${value}`]),
      ...['-h', host, '-p', String(port), '-U', user, String(database)],
    ],
    { env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' } },
  );
  const tps = /tps = ([\d.]+)/.exec(stdout)?.[1];
  if (tps === undefined) throw new Error(`pgbench printed: ${stdout}`);
  return Number(tps);
}
