import { readActs } from '../identity/audit-sql.ts';
import { countQuarantined } from '../ledger/quarantine-sql.ts';
import { countLostNodes } from '../nodes/nodes-sql.ts';
import { readCreation } from '../store/database-identity.ts';
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

/** What the audit log says about the care of the ledger. */
export interface Upkeep {
  /** The last one, else when the database was created. */
  readonly lastBackupAtMs: number;
  /** The last completed verification, else when the database was created. */
  readonly lastVerificationAtMs: number;
  /** The differences that it found. */
  readonly differences: number;
}

async function readUpkeep(sql: Sql): Promise<Upkeep> {
  const [backup] = await readActs(sql, { act: 'backup', limit: 1 });
  const [verification] = await readActs(sql, { act: 'ledger.verify', limit: 1 });
  const createdAtMs = await readCreation(sql);
  const found = verification?.after as { readonly differences?: unknown } | null | undefined;
  return {
    lastBackupAtMs: backup?.atMs ?? createdAtMs,
    lastVerificationAtMs: verification?.atMs ?? createdAtMs,
    differences: Number(found?.differences ?? 0),
  };
}

/** The problems and the upkeep of a database, as they were last read. */
export class AlarmWatch {
  readonly #sql: Sql;
  #current: Alarms & Upkeep;

  private constructor(sql: Sql, current: Alarms & Upkeep) {
    this.#sql = sql;
    this.#current = current;
  }

  static async open(sql: Sql): Promise<AlarmWatch> {
    return new AlarmWatch(sql, { ...(await readAlarms(sql)), ...(await readUpkeep(sql)) });
  }

  get current(): Alarms & Upkeep {
    return this.#current;
  }

  async refresh(): Promise<void> {
    const alarms = await readAlarms(this.#sql);
    this.#current = { ...this.#current, ...alarms };
  }

  async refreshUpkeep(): Promise<void> {
    const upkeep = await readUpkeep(this.#sql);
    this.#current = { ...this.#current, ...upkeep };
  }
}
