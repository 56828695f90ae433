import { int4Array, int8Array, int8ArrayOfNumbers } from './binary-arrays.ts';
import { nodeLives } from './gateway-nodes.ts';
import type { Statement } from './pipeline.ts';
import type { Sql } from './sql.ts';

/** What a share is of: an account's credit, or what is left below a key's limit. */
export type ShareKind = 'account' | 'key';

/** One share. */
export interface ShareRow {
  readonly kind: ShareKind;
  readonly subject: number;
  /** Micro-won, never negative. */
  readonly amount: bigint;
}

const kindNumbers: Readonly<Record<ShareKind, number>> = { account: 1, key: 2 };

/** The locks under which what is left and who has a share of it are read together. */
const locks: Readonly<Record<ShareKind, string>> = {
  account: 'SELECT 1 FROM account_balance WHERE account_id = $1 FOR UPDATE',
  key: 'SELECT 1 FROM api_key WHERE id = $1 FOR UPDATE',
};

/** Keeps every other node from changing its share of one subject until the transaction ends. */
export async function lockShares(sql: Sql, kind: ShareKind, subject: number): Promise<void> {
  await sql.query(locks[kind], [subject]);
}

/** What the other nodes that live have of one subject. */
export async function sharesOfOthers(
  sql: Sql,
  nodeId: number,
  kind: ShareKind,
  subject: number,
): Promise<bigint> {
  const [row] = await sql.query<{ amount: bigint }>(
    `SELECT coalesce(sum(s.amount), 0)::bigint AS amount FROM spend_share s JOIN gateway_node n ON n.id = s.node_id
     WHERE s.kind = $1 AND s.subject = $2 AND s.node_id <> $3 AND ${nodeLives}`,
    [kindNumbers[kind], subject, nodeId],
  );
  return row?.amount ?? 0n;
}

/** Puts shares in the place of those that the node had of the same subjects. */
export async function writeShares(sql: Sql, nodeId: number, shares: readonly ShareRow[]): Promise<void> {
  const sorted = [...shares].sort(
    (a, b) => kindNumbers[a.kind] - kindNumbers[b.kind] || a.subject - b.subject,
  );
  await sql.query(
    `INSERT INTO spend_share (kind, subject, node_id, amount)
     SELECT kind, subject, $4, amount FROM unnest($1::int[], $2::bigint[], $3::bigint[]) s (kind, subject, amount)
     ON CONFLICT (kind, subject, node_id) DO UPDATE SET amount = excluded.amount`,
    [...columnsOf(sorted), nodeId],
  );
}

/** Gives shares back. */
export async function dropShares(
  sql: Sql,
  nodeId: number,
  shares: readonly Omit<ShareRow, 'amount'>[],
): Promise<void> {
  await sql.query(
    `DELETE FROM spend_share s USING unnest($1::int[], $2::bigint[]) d (kind, subject)
     WHERE s.node_id = $3 AND s.kind = d.kind AND s.subject = d.subject`,
    [
      int4Array(shares.map(({ kind }) => kindNumbers[kind])),
      int8ArrayOfNumbers(shares.map(({ subject }) => subject)),
      nodeId,
    ],
  );
}

/** Gives back everything that the node has. */
export async function dropAllShares(sql: Sql, nodeId: number): Promise<void> {
  await sql.query('DELETE FROM spend_share WHERE node_id = $1', [nodeId]);
}

/** Takes what a settlement spends out of the node's shares, in the settlement's own transaction: spent is no longer to be spent. */
export function spendShares(nodeId: number, spent: readonly ShareRow[]): Statement {
  return {
    name: 'spend-shares',
    text: `UPDATE spend_share s SET amount = greatest(0, s.amount - d.amount)
           FROM unnest($1::int[], $2::bigint[], $3::bigint[]) d (kind, subject, amount)
           WHERE s.node_id = $4 AND s.kind = d.kind AND s.subject = d.subject`,
    values: [...columnsOf(spent), nodeId],
  };
}

function columnsOf(shares: readonly ShareRow[]): readonly Buffer[] {
  return [
    int4Array(shares.map(({ kind }) => kindNumbers[kind])),
    int8ArrayOfNumbers(shares.map(({ subject }) => subject)),
    int8Array(shares.map(({ amount }) => amount)),
  ];
}
