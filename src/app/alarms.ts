import { countQuarantined } from '../ledger/quarantine-sql.ts';
import { countLostNodes } from '../nodes/nodes-sql.ts';
import type { Sql } from '../store/sql.ts';

/** Problems with settlements that need the operator. */
export interface Alarms {
  /** Settlements that the database rejected. */
  readonly quarantined: number;
  /** Lost nodes whose journals may hold charges. */
  readonly lostNodes: number;
}

/** Counts the problems in this database. */
export async function readAlarms(sql: Sql): Promise<Alarms> {
  return { quarantined: await countQuarantined(sql), lostNodes: await countLostNodes(sql) };
}

/** The problems in a database, as they were last counted. */
export class AlarmWatch {
  readonly #sql: Sql;
  #current: Alarms;

  private constructor(sql: Sql, current: Alarms) {
    this.#sql = sql;
    this.#current = current;
  }

  static async open(sql: Sql): Promise<AlarmWatch> {
    return new AlarmWatch(sql, await readAlarms(sql));
  }

  get current(): Alarms {
    return this.#current;
  }

  async refresh(): Promise<void> {
    this.#current = await readAlarms(this.#sql);
  }
}
