import { column, number, type RowOf, recordOf } from '../store/record.ts';
import type { Sql } from '../store/sql.ts';
import type { OperatorRole } from './audit.ts';

const operators = recordOf({
  operatorId: number('id'),
  name: column<string>('name'),
  role: column<OperatorRole>('role'),
  createdAtMs: column<number>('created_at'),
});

/** An operator of the console. */
export type Operator = RowOf<typeof operators>;

const selectOperator = `SELECT ${operators.columns} FROM operator WHERE removed_at IS NULL`;
/** An arbitrary constant: the advisory lock for acts that count administrators. */
const operatorLock = 7_236_482_623;

/** Makes acts that count operators wait for each other until the transaction ends. */
export async function lockOperators(sql: Sql): Promise<void> {
  await sql.query('SELECT pg_advisory_xact_lock($1)', [operatorLock]);
}

/** Every operator, oldest first. */
export function listOperators(sql: Sql): Promise<readonly Operator[]> {
  return operators.all(sql, `${selectOperator} ORDER BY id`);
}

/** The operator of this name, in any case; null when there is none. */
export function findOperator(sql: Sql, name: string): Promise<Operator | null> {
  return operators.first(sql, `${selectOperator} AND name_key = $1`, [keyOf(name)]);
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
  const operator = await operators.first(
    sql,
    `INSERT INTO operator (name, name_key, role, created_at) VALUES ($1, $2, $3, to_timestamp($4::float8 / 1000))
     RETURNING ${operators.columns}`,
    [name, keyOf(name), role, createdAtMs],
  );
  if (operator === null) throw new Error('INSERT INTO operator returned no row');
  return operator;
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
