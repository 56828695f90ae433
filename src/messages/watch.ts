import { readKeySpends } from '../accounts/keys-sql.ts';
import { spendOf } from '../accounts/spend.ts';
import { readActs } from '../identity/audit-sql.ts';
import type { SlotStatus } from '../slots/contract.ts';
import type { Database } from '../store/database.ts';
import type { Sql } from '../store/sql.ts';
import { isoDay, periodStartDay, seoulDayAt } from '../time/period.ts';
import { type MessageEvent, postEvents } from './events-sql.ts';
import { findLimitedKeys, findLowBalances, takeTurn } from './watch-sql.ts';

/** The pace of an account is that of so many days. */
const paceDays = 7;
/** In percent of the limit of a key. */
const nearPercent = 80n;
/** After so many failed starts in a row a slot is failing. */
const failures = 3;

/** What is read of accounts, where their rows are. */
const tables = ['account', 'account_alert', 'account_balance', 'api_key', 'key_usage_day'];

/**
 * Posts what has come about since the last turn and has no moment of its own (spec:operator/5.2);
 * one server does it in each `everyMs`. A server of a distributed database that is away delays the
 * messages of its own accounts only.
 */
export async function watchConditions(database: Database, atMs: number, everyMs: number): Promise<void> {
  if (!(await takeTurn(database, atMs, everyMs))) return;
  const day = seoulDayAt(atMs);
  await postEvents(database, await failedVerification(database), atMs);
  await database.placement.eachReached(tables, async (sql) => {
    const found = [...(await lowBalances(sql, day)), ...(await keysAtLimit(sql, day))];
    await postEvents(database, found, atMs);
  });
}

/** Posts which slots of this server fail: once a day for each, however often it starts in between. */
export async function watchSlots(
  sql: Sql,
  { host, statuses, atMs }: { host: string; statuses: readonly SlotStatus[]; atMs: number },
): Promise<void> {
  const failing = statuses.filter((slot) => slot.state === 'FAILED' || slot.failures >= failures);
  const day = isoDay(seoulDayAt(atMs));
  const events = failing.map(
    (slot): MessageEvent => ({
      key: `slot:${host}:${slot.name}:${day}`,
      kind: 'slot.failing',
      accountId: null,
      data: { slot: slot.name, host, failures: slot.failures },
    }),
  );
  await postEvents(sql, events, atMs);
}

/** Once for each amount ever added: again only after a top-up. */
async function lowBalances(sql: Sql, day: number): Promise<readonly MessageEvent[]> {
  const low = await findLowBalances(sql, day - paceDays + 1, paceDays);
  return low.map(({ accountId, balance, credits, spent }) => ({
    key: `balance:${accountId}:${credits}`,
    kind: 'balance.low',
    accountId,
    data: {
      balance_micro: String(balance),
      days_left: balance <= 0n ? 0 : Number((balance * BigInt(paceDays)) / spent),
    },
  }));
}

/** Once for each limit of a key and each period of it. */
async function keysAtLimit(sql: Sql, day: number): Promise<readonly MessageEvent[]> {
  const keys = await findLimitedKeys(sql, day - 1);
  const spends = await readKeySpends(sql, keys, day);
  return keys.flatMap(({ id, accountId, name, limitMicro, limitReset }): readonly MessageEvent[] => {
    const spend = spends.get(id);
    if (spend === undefined || limitMicro === null) return [];
    const spent = spendOf({ day, ...spend }, limitReset);
    if (spent * 100n < limitMicro * nearPercent) return [];
    const isReached = spent >= limitMicro;
    const start = periodStartDay(limitReset, day);
    return [
      {
        key: `key:${id}:${isReached ? 100 : nearPercent}:${limitMicro}:${Number.isFinite(start) ? isoDay(start) : limitReset}`,
        kind: isReached ? 'key.limit_reached' : 'key.limit_near',
        accountId,
        data: {
          key_id: id,
          key_name: name,
          spent_micro: String(spent),
          limit_micro: String(limitMicro),
          limit_reset: limitReset,
        },
      },
    ];
  });
}

async function failedVerification(sql: Sql): Promise<readonly MessageEvent[]> {
  const [last] = await readActs(sql, { act: 'ledger.verify', limit: 1 });
  const { differences = 0 } = (last?.after ?? {}) as { readonly differences?: number };
  if (last === undefined || !(differences > 0)) return [];
  return [
    { key: `verification:${last.id}`, kind: 'verification.failed', accountId: null, data: { differences } },
  ];
}
