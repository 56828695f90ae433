import { countQuarantined } from '../ledger/quarantine-sql.ts';
import { countLostNodes } from '../nodes/nodes-sql.ts';
import type { Sql } from '../store/sql.ts';

/** What of the money waits for a person. */
export interface Alarms {
  /** Settlements that the database refused. */
  readonly quarantined: number;
  /** Nodes that are lost and whose journals may hold charges. */
  readonly lostNodes: number;
}

/** Counts what waits for a person in this database. */
export async function readAlarms(sql: Sql): Promise<Alarms> {
  return { quarantined: await countQuarantined(sql), lostNodes: await countLostNodes(sql) };
}
