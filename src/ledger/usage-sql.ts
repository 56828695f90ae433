import { dateArray, int8Array, int8ArrayOfNumbers, textArray } from '../store/binary-arrays.ts';
import type { Statement } from '../store/pipeline.ts';

/** What is needed of a settlement. */
interface Used {
  readonly accountId: number;
  readonly keyId: number;
  readonly day: number;
  readonly model: string | null;
  readonly cost: bigint;
  readonly promptTokens: number;
  readonly completionTokens: number;
}

/** What a batch adds to one row of a table. */
interface UsageSum {
  readonly accountId: number;
  /** The key, the app or the model. */
  readonly of: number | string;
  readonly day: number;
  cost: bigint;
  requests: number;
  promptTokens: number;
  completionTokens: number;
  /** The exclusive or of the digests of the records. */
  digest: bigint;
}

const addKeyUsage = addition('key_usage_day', 'key_id', 'bigint', true);
const addAppUsage = addition('app_usage_day', 'app_id', 'bigint');
const addModelUsage = addition('model_usage_day', 'model', 'text');

/**
 * The statements that add rows that are settled for the first time to the usage of their keys, apps
 * and models by Seoul day; a row without a model counts for no model. Run within the settlement's
 * transaction, each table in the order of its key.
 */
export function* usageAdditions<Row extends Used>(
  fresh: readonly Row[],
  { appIdOf, digestOf }: { readonly appIdOf: (row: Row) => number; readonly digestOf: (row: Row) => bigint },
): Generator<Statement> {
  if (fresh.length === 0) return;
  const byKey = sumsBy(fresh, (row) => row.keyId, digestOf);
  const { name, text, values } = add('settle-usage', addKeyUsage, byKey);
  yield { name, text, values: [...values, int8Array(byKey.map((sum) => sum.digest))] };
  yield add('settle-app-usage', addAppUsage, sumsBy(fresh, appIdOf));
  const models = sumsBy(fresh, (row) => row.model);
  if (models.length > 0) yield add('settle-model-usage', addModelUsage, models);
}

function sumsBy<Row extends Used>(
  rows: readonly Row[],
  ofRow: (row: Row) => number | string | null,
  digestOf: (row: Row) => bigint = () => 0n,
): readonly UsageSum[] {
  // An account has few sums in a batch: searching them is faster than building a map key for each.
  const sumsOf = new Map<number, UsageSum[]>();
  for (const row of rows) {
    const of = ofRow(row);
    if (of === null) continue;
    const { accountId, day } = row;
    let sums = sumsOf.get(accountId);
    if (sums === undefined) {
      sums = [];
      sumsOf.set(accountId, sums);
    }
    let sum = sums.find((each) => each.of === of && each.day === day);
    if (sum === undefined) {
      sum = { accountId, of, day, cost: 0n, requests: 0, promptTokens: 0, completionTokens: 0, digest: 0n };
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
    .sort((a, b) => a.accountId - b.accountId || (a.of < b.of ? -1 : a.of > b.of ? 1 : 0) || a.day - b.day);
}

function add(name: string, text: string, sums: readonly UsageSum[]): Statement {
  const ofs = sums.map((sum) => sum.of);
  return {
    name,
    text,
    values: [
      int8ArrayOfNumbers(sums.map((sum) => sum.accountId)),
      typeof ofs[0] === 'string' ? textArray(ofs as string[]) : int8ArrayOfNumbers(ofs as number[]),
      dateArray(sums.map((sum) => sum.day)),
      int8Array(sums.map((sum) => sum.cost)),
      int8ArrayOfNumbers(sums.map((sum) => sum.requests)),
      int8ArrayOfNumbers(sums.map((sum) => sum.promptTokens)),
      int8ArrayOfNumbers(sums.map((sum) => sum.completionTokens)),
    ],
  };
}

/** The statement that adds sums to a table of usage by day. */
function addition(table: string, of: string, type: string, hasDigest = false): string {
  const columns = `account_id, ${of}, day, cost, requests, prompt_tokens, completion_tokens${hasDigest ? ', records_digest' : ''}`;
  return `
INSERT INTO ${table} AS t (${columns})
SELECT ${columns}
FROM unnest($1::bigint[], $2::${type}[], $3::date[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[]${hasDigest ? ', $8::bigint[]' : ''}) u (${columns})
ON CONFLICT (account_id, ${of}, day) DO UPDATE
SET cost = t.cost + excluded.cost, requests = t.requests + excluded.requests,
    prompt_tokens = t.prompt_tokens + excluded.prompt_tokens, completion_tokens = t.completion_tokens + excluded.completion_tokens${
      hasDigest ? ',\n    records_digest = t.records_digest # excluded.records_digest' : ''
    }`;
}
