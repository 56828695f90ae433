import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Reads the control file of a cluster: its identity, and whether its last server ended by a clean
 * shutdown.
 */
export function readControl(clusterDir: string): {
  readonly systemIdentifier: string;
  readonly cleanlyShutDown: boolean;
} {
  const control = readFileSync(join(clusterDir, 'global', 'pg_control'));
  // The layout of these fields is the same from version 9 to 18; state 1 is DB_SHUTDOWNED.
  return {
    systemIdentifier: String(control.readBigUInt64LE(0)),
    cleanlyShutDown: control.readInt32LE(16) === 1,
  };
}
