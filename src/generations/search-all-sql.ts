import { column, type RowOf, recordOf } from '../store/record.ts';
import type { Sql } from '../store/sql.ts';
import { findInAnyAccount } from './any-account-sql.ts';
import {
  type CreatedSpan,
  conditionsFrom,
  conditionValues,
  type ListingFilter,
  listingColumns,
  lowestIdAt,
} from './search-sql.ts';

const accounted = recordOf({
  ...listingColumns,
  account: column<{ readonly id: number; readonly name: string }>(
    "json_build_object('id', a.id, 'name', a.name)",
  ),
});

/** One request in a list of all accounts. */
export type AccountedListing = RowOf<typeof accounted>;

/** Half-open, of ids: 32 hex digits each. */
export interface IdSpan {
  readonly fromId: string;
  readonly toId: string;
}

/** How many spans one statement reads. */
const spansAtOnce = 8;
/** The limit, and the values of a filter, are before the spans. */
const firstOfSpans = 10;

/**
 * Each span has parameters of its own: the planner knows their values, and so how few records are
 * between them. Of spans in an array it knows nothing, and reads whole partitions.
 */
function searchSql(spans: number): string {
  const parts = Array.from({ length: spans }, (_, at) => {
    const [from, to] = [firstOfSpans + 2 * at, firstOfSpans + 2 * at + 1];
    return `SELECT account_id, id FROM generation WHERE id >= $${from}::uuid AND id < $${to}::uuid AND ${conditionsFrom(2)}`;
  });
  return `
WITH hit AS MATERIALIZED (SELECT account_id, id FROM (${parts.join(' UNION ALL ')}) h ORDER BY id DESC LIMIT $1)
SELECT ${accounted.columns}
FROM hit JOIN generation g ON g.account_id = hit.account_id AND g.id = hit.id
JOIN account a ON a.id = g.account_id
LEFT JOIN api_key k ON k.id = g.key_id AND k.account_id = g.account_id ORDER BY g.id DESC`;
}

/**
 * The newest requests of all accounts within spans of ids, the newest span first, that pass the
 * filter. Reads every record of the spans that it needs: the caller chooses them.
 */
export async function searchAllGenerations(
  sql: Sql,
  filter: ListingFilter & CreatedSpan,
  spans: readonly IdSpan[],
  limit: number,
): Promise<readonly AccountedListing[]> {
  const found: AccountedListing[] = [];
  for (let at = 0; at < spans.length && found.length < limit; at += spansAtOnce) {
    const some = spans.slice(at, at + spansAtOnce);
    const rows = await accounted.all(sql, searchSql(some.length), [
      limit - found.length,
      ...conditionValues(filter),
      ...some.flatMap(({ fromId, toId }) => [fromId, toId]),
    ]);
    found.push(...rows);
  }
  return found;
}

/** How long before a request the record of refusals may begin that counts it. */
const refusalsSpanMs = 2_000;

/**
 * The account of a record by the identity of its generation or of its request, also one that a
 * record of refusals counts; null when there is none.
 */
export async function accountOfRequest(sql: Sql, uuid: string): Promise<number | null> {
  const fromId = lowestIdAt(Number.parseInt(uuid.slice(0, 12), 16) - refusalsSpanMs);
  return findInAnyAccount(sql, uuid, async (accounts) => {
    const [row] = await sql.query<{ account_id: bigint }>(
      `SELECT account_id FROM generation WHERE account_id = ANY ($4::bigint[]) AND id = $1::uuid
       UNION ALL SELECT account_id FROM generation
       WHERE account_id = ANY ($4::bigint[]) AND id >= $2::uuid AND id <= $1::uuid AND status IN (402, 403)
         AND (detail->'refused_request_ids')::jsonb ? $3 LIMIT 1`,
      [uuid, fromId, `req_${uuid}`, accounts],
    );
    return row === undefined ? null : Number(row.account_id);
  });
}
