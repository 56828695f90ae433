import type { Client } from 'pg';
import type { Clock } from '../../time/clock.ts';
import type { DatabaseAddress } from '../connection.ts';
import type { SerialConnection } from '../serial-connection.ts';
import type { Sql } from '../sql.ts';

/** What a placement is made of. */
export interface PlacementParts {
  readonly address: DatabaseAddress;
  readonly clock: Clock;
  readonly connect: (address: DatabaseAddress, limitMs: number | null) => Promise<Client>;
  /** Reads at the address. */
  readonly database: Sql;
  /** The ordered connection of what belongs to no account. */
  readonly serial: SerialConnection;
  /** Opens one more ordered connection to the address. */
  readonly openOrdered: () => SerialConnection;
}
