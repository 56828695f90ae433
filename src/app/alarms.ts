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
