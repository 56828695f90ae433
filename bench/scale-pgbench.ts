import { execFile } from 'node:child_process';
import { existsSync, globSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { DatabaseAddress } from '../src/store/connection.ts';
import { entryKindNumber } from '../src/store/ledger.ts';
import { ACCOUNTS, settlement } from './scale-rows.ts';

const run = promisify(execFile);

/** The machine's own pgbench; null when there is none. */
export function findPgbench(): string | null {
  const all = [...globSync('/usr/lib/postgresql/*/bin/pgbench').toSorted().toReversed(), '/usr/bin/pgbench'];
  return all.find((path) => existsSync(path)) ?? null;
}

// A colon before a word is a variable to pgbench.
const detail = settlement(1, 0).detail.replaceAll(':', ': ');
const insert = `INSERT INTO generation (account_id, id, key_id, created_at, settled_at, day, status, model, provider, finish_reason, prompt_tokens, completion_tokens, cost, price_version, detail)
VALUES (:a, uuidv7(), :a * 2, now(), now(), current_date, 200, 'openai/gpt-5.4-mini', 'openai', 'stop', 1200, 300, 1234567, 1, '${detail}');`;
const rest = `UPDATE account_balance SET balance = balance - 1234567, usage = usage + 1234567, entries = entries + 1, version = version + 1 WHERE account_id = :a;
INSERT INTO ledger (account_id, kind, amount, generation_id, key_id, created_at) VALUES (:a, ${entryKindNumber('usage')}, -1234567, uuidv7(), :a * 2, now());
INSERT INTO key_usage_day AS k (account_id, key_id, day, cost, requests, prompt_tokens, completion_tokens) VALUES (:a, :a * 2, current_date, 1234567, 1, 1200, 300)
ON CONFLICT (account_id, key_id, day) DO UPDATE SET cost = k.cost + excluded.cost, requests = k.requests + 1, prompt_tokens = k.prompt_tokens + 1200, completion_tokens = k.completion_tokens + 300;`;

const scripts = {
  /** The four statements of a settlement, one transaction for each request. */
  four: `BEGIN;\n${insert}\n${rest}\nEND;\n`,
  /** The record alone. */
  single: `${insert}\n`,
} as const;

/** Transactions a second of pgbench with prepared statements. */
export async function pgbench(
  program: string,
  address: DatabaseAddress,
  what: keyof typeof scripts,
  at: { readonly clients: number; readonly seconds: number; readonly folder: string },
): Promise<number> {
  const file = join(at.folder, `${what}.sql`);
  writeFileSync(
    file,
    `\\set a random(1, ${ACCOUNTS})\n${scripts[what].replaceAll('\nVALUES', ' VALUES').replaceAll('\nON', ' ON')}`,
  );
  const { host = '', port = 5432, user = '', database = '' } = address;
  const { stdout } = await run(
    program,
    [
      ...['-n', '-M', 'prepared', '-f', file, '-T', String(at.seconds)],
      ...['-c', String(at.clients), '-j', String(Math.min(2, at.clients))],
      ...['-h', host, '-p', String(port), '-U', user, String(database)],
    ],
    { env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' } },
  );
  const tps = /tps = ([\d.]+)/.exec(stdout)?.[1];
  if (tps === undefined) throw new Error(`pgbench said: ${stdout}`);
  return Number(tps);
}
