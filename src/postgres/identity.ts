import { statSync } from 'node:fs';
import { connect, disconnect, isConnectionLoss } from '../store/connection.ts';
import { readControl } from './control-file.ts';
import { codeOf, EmbeddedError } from './errors.ts';
import type { PidFile } from './pid-file.ts';
import { sameFolder } from './process-identity.ts';

/** How to connect to an embedded server: over its unix socket only. */
export interface EmbeddedConnection {
  /** The folder of the socket. */
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
}

/** The superuser of every cluster that Naru makes. */
export const databaseUser = 'naru';

/** The connection of a server in `socketDir`. */
export function connectionIn(socketDir: string, port: number): EmbeddedConnection {
  return { host: socketDir, port, user: databaseUser, database: 'postgres' };
}

/** A response takes a millisecond; a server that takes this long hangs. */
const responseTimeoutMs = 3_000;

/**
 * `ours`: it responded with our data directory and our system identifier. `other`: it responded
 * with something else. `busy`: it is starting, recovering or shutting down. `silent`: no response.
 */
export type ServerIdentity = 'ours' | 'other' | 'busy' | 'silent';

/**
 * Queries the identity of the server that a pid file names. Throws when this user may not connect
 * to it.
 */
export async function identifyServer(file: PidFile, clusterDir: string): Promise<ServerIdentity> {
  if (file.socketDir === '' || !(file.port > 0)) return 'busy';
  try {
    const client = await connect(connectionIn(file.socketDir, file.port), responseTimeoutMs);
    try {
      const { rows } = await client.query<{ dir: string; id: string }>(
        `SELECT current_setting('data_directory') AS dir, system_identifier::text AS id FROM pg_control_system()`,
      );
      const stated = rows[0];
      const isOurs =
        stated !== undefined &&
        sameFolder(statSync(stated.dir), statSync(clusterDir)) &&
        stated.id === readControl(clusterDir).systemIdentifier;
      return isOurs ? 'ours' : 'other';
    } finally {
      await disconnect(client);
    }
  } catch (thrown) {
    const code = codeOf(thrown);
    if (code === 'EACCES')
      throw new EmbeddedError(
        `a server runs on ${clusterDir}, but this user may not connect to ${file.socketDir}: use the user that Naru runs as`,
      );
    // 57P03: starting up or shutting down; 53300: all connections are taken; 57P01/02: it began to
    // shut down during the query.
    if (code === '57P03' || code === '53300' || code === '57P01' || code === '57P02') return 'busy';
    return isConnectionLoss(thrown) ? 'silent' : 'other';
  }
}
