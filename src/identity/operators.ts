import { isDuplicate } from '../store/connection.ts';
import type { Database } from '../store/database.ts';
import type { Sql } from '../store/sql.ts';
import type { Clock } from '../time/clock.ts';
import type { Actor, OperatorRole } from './audit.ts';
import { recordAct } from './audit-sql.ts';
import { deleteLinksOfOperator } from './links-sql.ts';
import {
  findOperator,
  hasSeveralAdmins,
  insertOperator,
  listOperators,
  lockOperators,
  markOperatorRemoved,
  type Operator,
  setOperatorRole,
} from './operators-sql.ts';
import { deleteSessions } from './sessions-sql.ts';

/** The operator that the first start creates, when there is none. */
const firstOperator = 'admin';

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
  list(): Promise<readonly Operator[]> {
    return listOperators(this.#database);
  }

  /** The operator of this name, in any case; null when there is none. */
  find(name: string): Promise<Operator | null> {
    return findOperator(this.#database, name);
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
    return this.#change(name, null, reason, actor);
  }

  /**
   * Changes a role, effective on the next request of the operator; the last administrator keeps its
   * role.
   */
  setRole(
    name: string,
    role: OperatorRole,
    reason: string | null,
    actor: Actor,
  ): Promise<Operator | OperatorFault> {
    return this.#change(name, role, reason, actor);
  }

  /**
   * The operator for a link without a name: the only one, or an administrator that is created when
   * there is none.
   */
  only(actor: Actor): Promise<Operator | 'several'> {
    return this.#database.transaction(async (sql) => {
      await lockOperators(sql);
      const [first, second] = await listOperators(sql);
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
    const operator = await insertOperator(sql, { name, role, createdAtMs: nowMs });
    await recordAct(sql, actor, { act: 'operator.add', subject: name, after: { role } }, nowMs);
    return operator;
  }

  /** Sets a role, or removes the operator for whom it is null. */
  #change(
    name: string,
    role: OperatorRole | null,
    reason: string | null,
    actor: Actor,
  ): Promise<Operator | OperatorFault> {
    return this.#database.transaction(async (sql) => {
      await lockOperators(sql);
      const operator = await findOperator(sql, name);
      if (operator === null) return 'no_such_operator';
      if (operator.role === 'admin' && role !== 'admin' && !(await hasSeveralAdmins(sql)))
        return 'last_admin';
      const { operatorId } = operator;
      const nowMs = this.#clock.now();
      const changed = { subject: operator.name, reason, before: { role: operator.role } };
      if (role === null) {
        await markOperatorRemoved(sql, operatorId, nowMs);
        await deleteLinksOfOperator(sql, operatorId);
        await deleteSessions(sql, { kind: 'operator', operatorId }, { except: null });
        await recordAct(sql, actor, { act: 'operator.remove', ...changed }, nowMs);
        return operator;
      }
      await setOperatorRole(sql, operatorId, role);
      await recordAct(sql, actor, { act: 'operator.role', ...changed, after: { role } }, nowMs);
      return { ...operator, role };
    });
  }
}
