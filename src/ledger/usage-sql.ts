import { dateArray, int8Array, int8ArrayOfNumbers } from '../store/binary-arrays.ts';
import type { Statement } from '../store/pipeline.ts';
import type { Sql } from '../store/sql.ts';

/** What is needed of a settlement. */
interface Used {
  readonly accountId: number;
  readonly keyId: number;
  readonly day: number;
  readonly cost: bigint;
  readonly promptTokens: number;
  readonly completionTokens: number;
}

/** What a batch adds to the usage of one key on one day. */
interface UsageSum {
  readonly accountId: number;
  readonly keyId: number;
  readonly day: number;
  cost: bigint;
  requests: number;
  promptTokens: number;
  completionTokens: number;
  /** The exclusive or of the digests of the records. */
  digest: bigint;
}

const columns = 'account_id, key_id, day, cost, requests, prompt_tokens, completion_tokens, records_digest';

const addUsage = `
INSERT INTO key_usage_day AS t (${columns})
SELECT ${columns}
FROM unnest($1::bigint[], $2::bigint[], $3::date[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[]) u (${columns})
ON CONFLICT (account_id, key_id, day) DO UPDATE
SET cost = t.cost + excluded.cost, requests = t.requests + excluded.requests,
    prompt_tokens = t.prompt_tokens + excluded.prompt_tokens, completion_tokens = t.completion_tokens + excluded.completion_tokens,
    records_digest = t.records_digest # excluded.records_digest`;

/**
 * Adds rows that are settled for the first time to the usage of their keys by Seoul day, in the
 * order of the table's key. Run within the settlement's transaction. Usage by app and by model is
 * rolled up from the records instead (docs/decisions/rollups.md).
 */
export function addKeyUsage<Row extends Used>(
  fresh: readonly Row[],
  digestOf: (row: Row) => bigint,
): Statement {
  const sums = sumsByKey(fresh, digestOf);
  return {
    name: 'settle-usage',
    text: addUsage,
    values: [
      int8ArrayOfNumbers(sums.map((sum) => sum.accountId)),
      int8ArrayOfNumbers(sums.map((sum) => sum.keyId)),
      dateArray(sums.map((sum) => sum.day)),
      int8Array(sums.map((sum) => sum.cost)),
      int8ArrayOfNumbers(sums.map((sum) => sum.requests)),
      int8ArrayOfNumbers(sums.map((sum) => sum.promptTokens)),
      int8ArrayOfNumbers(sums.map((sum) => sum.completionTokens)),
      int8Array(sums.map((sum) => sum.digest)),
    ],
  };
}

/**
 * Gives a refund of a generation back to the limit of its key, on the day of the settlement
 * (spec:money/7.10); returns the id of the key. The balance is locked, as by a settlement.
 */
export async function returnToKey(
  sql: Sql,
  refund: { readonly accountId: number; readonly generation: string; readonly amount: bigint },
): Promise<number> {
  const [row] = await sql.query<{ key_id: bigint }>(
    `UPDATE key_usage_day u SET returned = u.returned + $3::bigint
     FROM generation g WHERE g.account_id = $1 AND g.id = $2::uuid AND u.account_id = $1 AND u.key_id = g.key_id AND u.day = g.day
     RETURNING u.key_id`,
    [refund.accountId, refund.generation, refund.amount],
  );
  if (row === undefined) throw new Error(`generation ${refund.generation} has no day of usage`);
  return Number(row.key_id);
}

function sumsByKey<Row extends Used>(
  rows: readonly Row[],
  digestOf: (row: Row) => bigint,
): readonly UsageSum[] {
  // A key has few days in a batch: searching them is faster than building a map key for each row.
  const sumsOf = new Map<number, UsageSum[]>();
  for (const row of rows) {
    const { accountId, keyId, day } = row;
    let sums = sumsOf.get(keyId);
    if (sums === undefined) {
      sums = [];
      sumsOf.set(keyId, sums);
    }
    let sum = sums.find((each) => each.accountId === accountId && each.day === day);
    if (sum === undefined) {
      sum = {
        accountId,
        keyId,
        day,
        cost: 0n,
        requests: 0,
        promptTokens: 0,
        completionTokens: 0,
        digest: 0n,
      };
      sums.push(sum);
    }
    sum.cost += row.cost;
    sum.requests += 1;
    sum.promptTokens += row.promptTokens;
    sum.completionTokens += row.completionTokens;
    sum.digest ^= digestOf(row);
  }
  return [...sumsOf.values()]
    .flat()
    .sort((a, b) => a.accountId - b.accountId || a.keyId - b.keyId || a.day - b.day);
}
