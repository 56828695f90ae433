import { placesOfKeys } from '../accounts/keys-sql.ts';
import type { Sql } from '../store/sql.ts';
import { seoulDayAt } from '../time/period.ts';
import type { Ticket } from './journal/journal.ts';
import { decodeFinal, decodeOpen, finalType, type OpenRecord, openType } from './journal-records.ts';
import { findQuarantined } from './quarantine-sql.ts';
import type { SettlementRow } from './settlement-sql.ts';

/**
 * What an earlier process left in the journal. Every ticket is released when its request is
 * settled.
 */
export interface OrphanedRecords {
  readonly settled: readonly { readonly row: SettlementRow; readonly tickets: readonly Ticket[] }[];
  /**
   * Admitted requests without a settlement. Requests that were settled and released may be among
   * them.
   */
  readonly orphans: readonly { readonly record: OpenRecord; readonly tickets: readonly Ticket[] }[];
  /** Records of a type that this version does not write. */
  readonly unknown: readonly Ticket[];
}

/** Every record of one request. */
interface Traces {
  readonly tickets: Ticket[];
  open: OpenRecord | null;
  final: SettlementRow | null;
}

/**
 * Reads the journal that an earlier process left, request by request. A long request was journaled
 * as admitted more than once. Of two settlements the first was given up, so the later one counts.
 */
export function readOrphanedRecords(
  records: Iterable<{ readonly type: number; readonly payload: Buffer; readonly ticket: Ticket }>,
): OrphanedRecords {
  const requests = new Map<string, Traces>();
  const unknown: Ticket[] = [];
  const tracesOf = (uuid: string, ticket: Ticket): Traces => {
    const traces = requests.get(uuid) ?? { tickets: [], open: null, final: null };
    requests.set(uuid, traces);
    traces.tickets.push(ticket);
    return traces;
  };
  for (const { type, payload, ticket } of records) {
    const text = payload.toString('utf8');
    if (type === openType) {
      const open = decodeOpen(text);
      tracesOf(open.uuid, ticket).open = open;
    } else if (type === finalType) {
      const final = decodeFinal(text);
      tracesOf(final.uuid, ticket).final = final;
    } else unknown.push(ticket);
  }
  const all = [...requests.values()];
  return {
    settled: all.flatMap(({ final, tickets }) => (final === null ? [] : [{ row: final, tickets }])),
    orphans: all.flatMap(({ final, open, tickets }) =>
      final !== null || open === null ? [] : [{ record: open, tickets }],
    ),
    unknown,
  };
}

/**
 * What an earlier process left, settled at the latest now: an instant in the future is of a clock that
 * was wrong, and would count in a period that has not begun (spec:money/7.9).
 */
export function settledByNow(row: SettlementRow, nowMs: number): SettlementRow {
  return row.settledAtMs <= nowMs ? row : { ...row, settledAtMs: nowMs, day: seoulDayAt(nowMs) };
}

/** Naru ended while the request was in flight (spec:money/4.7): failed, recorded, free. */
export function orphanFailure(record: OpenRecord, nowMs: number): SettlementRow {
  return {
    ...record,
    settledAtMs: nowMs,
    day: seoulDayAt(nowMs),
    status: 500,
    errorType: 'server',
    model: null,
    provider: null,
    finishReason: null,
    promptTokens: 0,
    completionTokens: 0,
    cost: 0n,
    priceVersion: null,
  };
}

/** What may prevent a settlement from an earlier process, by generation. */
export interface RecoveryChecks {
  /**
   * Those that are in the quarantine, whatever was decided: its row owns the decision. The journal
   * may have kept one only in part, and a request without its end would be recorded as free.
   */
  readonly quarantined: ReadonlySet<string>;
  /**
   * Those whose key is not in the database or belongs to another account, with a message. The
   * database was restored from before the key was made, and the settlement would charge an account
   * that does not exist. A later key with the same number is found when it is settled
   * (`LaterKey`): that needs the server of its account.
   */
  readonly unknownKeys: ReadonlyMap<string, string>;
}

/**
 * Checks settlements that an earlier process left, before they are settled (spec:money/5.7-5.8).
 */
export async function checkRecovered(sql: Sql, rows: readonly SettlementRow[]): Promise<RecoveryChecks> {
  if (rows.length === 0) return { quarantined: new Set(), unknownKeys: new Map() };
  const quarantined = await findQuarantined(
    sql,
    rows.map(({ uuid }) => uuid),
  );
  return { quarantined, unknownKeys: await findUnknownKeys(sql, rows) };
}

/** Those whose key is not in the database or belongs to another account, with a message. */
export async function findUnknownKeys(
  sql: Sql,
  rows: readonly SettlementRow[],
): Promise<ReadonlyMap<string, string>> {
  const keys = await placesOfKeys(sql, [...new Set(rows.map(({ keyId }) => keyId))]);
  const accountOf = new Map(keys.map((key) => [key.id, key.accountId]));
  return new Map(
    rows.flatMap(({ uuid, keyId, accountId }) => {
      const account = accountOf.get(keyId);
      if (account === accountId) return [];
      const message =
        account === undefined ? `there is no key ${keyId}` : `key ${keyId} is of account ${account}`;
      return [[uuid, `${message}, and the settlement charges account ${accountId}`]];
    }),
  );
}
