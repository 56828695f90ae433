import { int4Array, int8Array, int8ArrayOfNumbers } from '../store/binary-arrays.ts';
import type { Statement } from '../store/pipeline.ts';
import type { Sql } from '../store/sql.ts';
import { nodeLives } from './nodes-sql.ts';

/** The subject of a credit lease: an account's credit, or what is left below a key's limit. */
export type CreditLeaseKind = 'account' | 'key';

/** What a credit lease is of: an account, or a key of it. */
export interface LeaseSubject {
  readonly kind: CreditLeaseKind;
  readonly subject: number;
  readonly accountId: number;
}

/** One credit lease. */
export interface CreditLeaseRow extends LeaseSubject {
  /** Micro-won, never negative. */
  readonly amount: bigint;
}

const kindNumbers: Readonly<Record<CreditLeaseKind, number>> = { account: 1, key: 2 };

/** The locks under which the remainder of a subject and its leases are read together. */
const locks: Readonly<Record<CreditLeaseKind, string>> = {
  account: 'SELECT 1 FROM account_balance WHERE account_id = $1 FOR UPDATE',
  key: 'SELECT 1 FROM api_key WHERE account_id = $1 AND id = $2 FOR UPDATE',
};

/** Prevents every other node from changing its lease of one subject until the transaction ends. */
export async function lockLeases(sql: Sql, { kind, accountId, subject }: LeaseSubject): Promise<void> {
  await sql.query(locks[kind], kind === 'account' ? [accountId] : [accountId, subject]);
}

/** What the other live nodes have of one subject. */
export async function leasesOfOthers(
  sql: Sql,
  nodeId: number,
  { kind, accountId, subject }: LeaseSubject,
): Promise<bigint> {
  const [row] = await sql.query<{ amount: bigint }>(
    `SELECT coalesce(sum(s.amount), 0)::bigint AS amount
     FROM spend_share s JOIN gateway_node n ON n.id = s.node_id
     WHERE s.account_id = $4 AND s.kind = $1 AND s.subject = $2 AND s.node_id <> $3 AND ${nodeLives}`,
    [kindNumbers[kind], subject, nodeId, accountId],
  );
  if (row === undefined) throw new Error('an aggregate returned no row');
  return row.amount;
}

/** Replaces the leases that the node had of the same subjects. */
export async function writeLeases(
  sql: Sql,
  nodeId: number,
  leases: readonly CreditLeaseRow[],
): Promise<void> {
  await sql.query(
    `INSERT INTO spend_share (account_id, kind, subject, node_id, amount)
     SELECT account_id, kind, subject, $5, amount
     FROM unnest($1::bigint[], $2::int[], $3::bigint[], $4::bigint[]) s (account_id, kind, subject, amount)
     ON CONFLICT (account_id, kind, subject, node_id) DO UPDATE SET amount = excluded.amount`,
    [...columnsOf(inOrder(leases)), nodeId],
  );
}

/** Releases leases. */
export async function dropLeases(sql: Sql, nodeId: number, leases: readonly LeaseSubject[]): Promise<void> {
  await sql.query(
    `DELETE FROM spend_share s USING unnest($1::bigint[], $2::int[], $3::bigint[]) d (account_id, kind, subject)
     WHERE s.account_id = ANY($1::bigint[]) AND s.node_id = $4 AND s.account_id = d.account_id
       AND s.kind = d.kind AND s.subject = d.subject`,
    [...subjectsOf(leases), nodeId],
  );
}

/** Releases every lease of the node of these accounts. */
export async function dropLeasesOf(sql: Sql, nodeId: number, accountIds: readonly number[]): Promise<void> {
  await sql.query('DELETE FROM spend_share WHERE account_id = ANY($2::bigint[]) AND node_id = $1', [
    nodeId,
    int8ArrayOfNumbers(accountIds),
  ]);
}

/** Takes what a settlement spends out of the node's leases, in the settlement's own transaction. */
export function spendLeases(nodeId: number, spent: readonly CreditLeaseRow[]): Statement {
  return {
    name: 'spend-credit-leases',
    text: `UPDATE spend_share s SET amount = greatest(0, s.amount - d.amount)
           FROM unnest($1::bigint[], $2::int[], $3::bigint[], $4::bigint[]) d (account_id, kind, subject, amount)
           WHERE s.account_id = ANY($1::bigint[]) AND s.node_id = $5 AND s.account_id = d.account_id
             AND s.kind = d.kind AND s.subject = d.subject`,
    values: [...columnsOf(spent), nodeId],
  };
}

/** The order in which every transaction locks them. */
function inOrder<Row extends LeaseSubject>(rows: readonly Row[]): readonly Row[] {
  return [...rows].sort((a, b) => kindNumbers[a.kind] - kindNumbers[b.kind] || a.subject - b.subject);
}

function columnsOf(leases: readonly CreditLeaseRow[]): readonly Buffer[] {
  return [...subjectsOf(leases), int8Array(leases.map(({ amount }) => amount))];
}

function subjectsOf(leases: readonly LeaseSubject[]): readonly Buffer[] {
  return [
    int8ArrayOfNumbers(leases.map(({ accountId }) => accountId)),
    int4Array(leases.map(({ kind }) => kindNumbers[kind])),
    int8ArrayOfNumbers(leases.map(({ subject }) => subject)),
  ];
}
