import type { Sql } from '../store/sql.ts';
import type { OperatorRole } from './audit.ts';

/** An operator of the console. */
export interface Operator {
  readonly operatorId: number;
  readonly name: string;
  readonly role: OperatorRole;
  readonly createdAtMs: number;
}

interface RawOperator {
  id: bigint;
  name: string;
  role: OperatorRole;
  created_at: number;
}

const selectOperator = 'SELECT id, name, role, created_at FROM operator WHERE removed_at IS NULL';
/** An arbitrary constant: the advisory lock for acts that count administrators. */
const operatorLock = 7_236_482_623;

/** Makes acts that count operators wait for each other until the transaction ends. */
export async function lockOperators(sql: Sql): Promise<void> {
  await sql.query('SELECT pg_advisory_xact_lock($1)', [operatorLock]);
}

/** Every operator, oldest first. */
export async function listOperators(sql: Sql): Promise<readonly Operator[]> {
  return (await sql.query<RawOperator>(`${selectOperator} ORDER BY id`)).map(operatorOf);
}

/** The operator of this name, in any case; null when there is none. */
export async function findOperator(sql: Sql, name: string): Promise<Operator | null> {
  const [row] = await sql.query<RawOperator>(`${selectOperator} AND name_key = $1`, [keyOf(name)]);
  return row === undefined ? null : operatorOf(row);
}

/** Whether there are two administrators or more. */
export async function hasSeveralAdmins(sql: Sql): Promise<boolean> {
  return (await sql.query(`${selectOperator} AND role = 'admin' LIMIT 2`)).length === 2;
}

/** Stores an operator; a second one of the same name is a duplicate. */
export async function insertOperator(
  sql: Sql,
  { name, role, createdAtMs }: Omit<Operator, 'operatorId'>,
): Promise<Operator> {
  const [row] = await sql.query<RawOperator>(
    `INSERT INTO operator (name, name_key, role, created_at) VALUES ($1, $2, $3, to_timestamp($4::float8 / 1000))
     RETURNING id, name, role, created_at`,
    [name, keyOf(name), role, createdAtMs],
  );
  if (row === undefined) throw new Error('INSERT INTO operator returned no row');
  return operatorOf(row);
}

/** Marks an operator as removed; the audit log still refers to it. */
export async function markOperatorRemoved(sql: Sql, operatorId: number, atMs: number): Promise<void> {
  await sql.query('UPDATE operator SET removed_at = to_timestamp($2::float8 / 1000) WHERE id = $1', [
    operatorId,
    atMs,
  ]);
}

/** Sets the role of an operator. */
export async function setOperatorRole(sql: Sql, operatorId: number, role: OperatorRole): Promise<void> {
  await sql.query('UPDATE operator SET role = $2 WHERE id = $1', [operatorId, role]);
}

function keyOf(name: string): string {
  return name.normalize('NFC').toLowerCase();
}

function operatorOf(row: RawOperator): Operator {
  return { operatorId: Number(row.id), name: row.name, role: row.role, createdAtMs: row.created_at };
}
