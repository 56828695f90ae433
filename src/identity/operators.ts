import { isDuplicate } from '../store/connection.ts';
import type { Database } from '../store/database.ts';
import type { Sql } from '../store/sql.ts';
import type { Clock } from '../time/clock.ts';
import type { Actor, OperatorRole } from './audit.ts';
import { recordAct } from './audit-sql.ts';
import type { Email } from './email.ts';
import { deleteLinksOfOperator } from './links-sql.ts';
import {
  findLinkedOperator,
  findOperator,
  hasSeveralAdmins,
  insertOperator,
  linkOperator,
  listOperators,
  lockOperators,
  lockToken,
  markOperatorRemoved,
  type Operator,
  setOperatorRole,
  wasRemoved,
} from './operators-sql.ts';
import { deletePasskeys } from './passkeys-sql.ts';
import { deleteSessions } from './sessions-sql.ts';

/** The operator that the first start creates, when there is none. */
const firstOperator = 'admin';

/** What prevents a change of an operator. */
export type OperatorFault = 'name_taken' | 'no_such_operator' | 'last_admin';

/** A person of the OpenID provider, with the address that it verified. */
export interface ProviderPerson {
  readonly issuer: string;
  readonly subject: string;
  readonly email: Email;
}

/**
 * Why a person of the OpenID provider is no operator. `no_group`: none of its groups has a role.
 * `other_identity`: the operator of its address is another person of the provider, or a machine.
 */
export type AdmitFault = 'no_group' | 'operator_removed' | 'other_identity';

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

  /**
   * The operator of a person of the OpenID provider, in the transaction of its sign-in: as linked before,
   * the one that an administrator added with the address as its name, or a new one. Its role becomes that
   * of its groups, also of the last administrator: `naru operator` is always there. Without a role (null)
   * its sessions and links end. One that was removed stays removed, until it is added again.
   */
  async admit(sql: Sql, person: ProviderPerson, role: OperatorRole | null): Promise<Operator | AdmitFault> {
    await lockOperators(sql);
    const name = person.email.text;
    const linked = await findLinkedOperator(sql, person);
    if (role === null) {
      if (linked !== null) await this.#lockOut(sql, linked);
      return 'no_group';
    }
    const known = linked ?? (await findOperator(sql, name));
    if (known === null && (await wasRemoved(sql, person, name))) return 'operator_removed';
    const isOther =
      known === null ? (await lockToken(sql, name)) !== null : known.oidcIssuer === person.issuer;
    if (linked === null && isOther) return 'other_identity';
    const nowMs = this.#clock.now();
    const { issuer } = person;
    const operator = known ?? (await insertOperator(sql, { name, role, createdAtMs: nowMs }));
    const { operatorId } = operator;
    const actor: Actor = { kind: 'operator', operatorId, name: operator.name, role };
    if (linked === null) {
      await linkOperator(sql, operatorId, person);
      await deletePasskeys(sql, 'operator', operatorId, null);
      const act = known === null ? 'operator.add' : 'operator.provider';
      await recordAct(sql, actor, { act, subject: operator.name, after: { role, issuer } }, nowMs);
    }
    if (operator.role !== role) {
      await setOperatorRole(sql, operatorId, role);
      const changed = { subject: operator.name, before: { role: operator.role }, after: { role } };
      await recordAct(sql, actor, { act: 'operator.role', reason: 'groups', ...changed }, nowMs);
    }
    return { ...operator, role, oidcIssuer: issuer };
  }

  /** Ends the sessions and links of an operator that the provider gives no role any more. */
  async #lockOut(sql: Sql, { operatorId, name, role }: Operator): Promise<void> {
    await deleteLinksOfOperator(sql, operatorId);
    await deleteSessions(sql, { kind: 'operator', operatorId }, { except: null });
    const actor: Actor = { kind: 'operator', operatorId, name, role };
    const act = { act: 'operator.sign_in', subject: name, after: { refused: 'no_group' } };
    await recordAct(sql, actor, act, this.#clock.now());
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
        await deletePasskeys(sql, 'operator', operatorId, null);
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
