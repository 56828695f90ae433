import { isDuplicate } from '../store/connection.ts';
import type { Database } from '../store/database.ts';
import type { Sql } from '../store/sql.ts';
import type { Clock } from '../time/clock.ts';
import { type Actor, type OperatorRole, recordAct } from './audit.ts';
import { deleteSessionsExcept } from './sessions-sql.ts';

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
/** The operator that the first start creates, when there is none. */
const firstOperator = 'admin';
/** An arbitrary constant: the advisory lock for acts that count administrators. */
const operatorLock = 7_236_482_621;

/** What prevents a change of an operator. */
export type OperatorFault = 'name_taken' | 'no_such_operator' | 'last_admin';

/** The operators: names, roles. Every change is in the audit log. */
export class Operators {
  readonly #database: Database;
  readonly #clock: Clock;

  constructor(database: Database, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  /** Every operator, oldest first. */
  async list(): Promise<readonly Operator[]> {
    return (await this.#database.query<RawOperator>(`${selectOperator} ORDER BY id`)).map(operatorOf);
  }

  /** The operator of this name, in any case; null when there is none. */
  find(name: string): Promise<Operator | null> {
    return findByName(this.#database, name);
  }

  async add(
    order: { readonly name: string; readonly role: OperatorRole },
    actor: Actor,
  ): Promise<Operator | OperatorFault> {
    try {
      return await this.#database.transaction((sql) => this.#insert(sql, order, actor));
    } catch (error) {
      if (isDuplicate(error)) return 'name_taken';
      throw error;
    }
  }

  /** Removes an operator and ends its sessions; the last administrator stays. */
  remove(name: string, reason: string | null, actor: Actor): Promise<Operator | OperatorFault> {
    return this.#change(
      name,
      async (sql, operator, nowMs) => {
        await sql.query('UPDATE operator SET removed_at = to_timestamp($2::float8 / 1000) WHERE id = $1', [
          operator.operatorId,
          nowMs,
        ]);
        await sql.query('DELETE FROM one_time_link WHERE operator_id = $1', [operator.operatorId]);
        await deleteSessionsExcept(sql, { kind: 'operator', operatorId: operator.operatorId }, null);
        const act = {
          act: 'operator.remove',
          subject: operator.name,
          reason,
          before: { role: operator.role },
        };
        await recordAct(sql, actor, act, nowMs);
        return operator;
      },
      true,
    );
  }

  /** Changes a role, effective on the next request of the operator; the last administrator keeps its role. */
  setRole(
    name: string,
    role: OperatorRole,
    reason: string | null,
    actor: Actor,
  ): Promise<Operator | OperatorFault> {
    return this.#change(
      name,
      async (sql, operator, nowMs) => {
        await sql.query('UPDATE operator SET role = $2 WHERE id = $1', [operator.operatorId, role]);
        const changed = { before: { role: operator.role }, after: { role } };
        await recordAct(
          sql,
          actor,
          { act: 'operator.role', subject: operator.name, reason, ...changed },
          nowMs,
        );
        return { ...operator, role };
      },
      role !== 'admin',
    );
  }

  /** The operator for a link without a name: the only one, or an administrator that is created when there is none. */
  only(actor: Actor): Promise<Operator | 'several'> {
    return this.#database.transaction(async (sql) => {
      await sql.query('SELECT pg_advisory_xact_lock($1)', [operatorLock]);
      const [first, second] = (await sql.query<RawOperator>(`${selectOperator} ORDER BY id LIMIT 2`)).map(
        operatorOf,
      );
      if (second !== undefined) return 'several';
      return first ?? this.#insert(sql, { name: firstOperator, role: 'admin' }, actor);
    });
  }

  async #insert(
    sql: Sql,
    { name, role }: { readonly name: string; readonly role: OperatorRole },
    actor: Actor,
  ): Promise<Operator> {
    const nowMs = this.#clock.now();
    const [row] = await sql.query<RawOperator>(
      `INSERT INTO operator (name, name_key, role, created_at) VALUES ($1, $2, $3, to_timestamp($4::float8 / 1000))
       RETURNING id, name, role, created_at`,
      [name, keyOf(name), role, nowMs],
    );
    if (row === undefined) throw new Error('INSERT INTO operator returned no row');
    await recordAct(sql, actor, { act: 'operator.add', subject: name, after: { role } }, nowMs);
    return operatorOf(row);
  }

  #change(
    name: string,
    change: (sql: Sql, operator: Operator, nowMs: number) => Promise<Operator>,
    takesAdmin: boolean,
  ): Promise<Operator | OperatorFault> {
    return this.#database.transaction(async (sql) => {
      await sql.query('SELECT pg_advisory_xact_lock($1)', [operatorLock]);
      const operator = await findByName(sql, name);
      if (operator === null) return 'no_such_operator';
      if (takesAdmin && operator.role === 'admin') {
        const admins = await sql.query(`${selectOperator} AND role = 'admin' LIMIT 2`);
        if (admins.length < 2) return 'last_admin';
      }
      return change(sql, operator, this.#clock.now());
    });
  }
}

async function findByName(sql: Sql, name: string): Promise<Operator | null> {
  const [row] = await sql.query<RawOperator>(`${selectOperator} AND name_key = $1`, [keyOf(name)]);
  return row === undefined ? null : operatorOf(row);
}

function keyOf(name: string): string {
  return name.normalize('NFC').toLowerCase();
}

function operatorOf(row: RawOperator): Operator {
  return { operatorId: Number(row.id), name: row.name, role: row.role, createdAtMs: row.created_at };
}
