import { platform } from 'node:os';
import { join } from 'node:path';

/** The port is only a part of the socket's name: there is no TCP. */
export const socketPort = 5432;

/** The superuser of every cluster that Naru makes. */
export const databaseUser = 'naru';

/** The longest path of a unix socket on every platform (Linux 107 bytes, macOS 103). */
const maxSocketPathBytes = 103;

/** Each worker process of Naru takes about ten connections. */
export const defaultMaxConnections = 100;

/** Whether the path of the socket in this folder is short enough. */
export function isShortEnough(socketDir: string): boolean {
  return Buffer.byteLength(join(socketDir, `.s.PGSQL.${socketPort}`)) <= maxSocketPathBytes;
}

/**
 * The arguments of a server. Settings are on the command line and not in postgresql.conf: so they
 * follow the code at every start, root writes nothing into a folder of another user, and no ALTER
 * SYSTEM can turn durability off.
 */
export function serverArguments(
  clusterDir: string,
  socketDir: string,
  major: number,
  maxConnections: number,
): readonly string[] {
  const settings: Record<string, string> = {
    listen_addresses: '',
    unix_socket_directories: `"${socketDir.replaceAll('"', '""')}"`,
    unix_socket_permissions: '0700',
    port: String(socketPort),
    cluster_name: 'naru',

    fsync: 'on',
    full_page_writes: 'on',
    synchronous_commit: 'on',
    // fsync of macOS leaves data in the drive's cache.
    ...(platform() === 'darwin' ? { wal_sync_method: 'fsync_writethrough' } : {}),

    max_connections: String(maxConnections),
    shared_buffers: '64MB',
    work_mem: '4MB',
    maintenance_work_mem: '32MB',
    huge_pages: 'off',
    // Parallel queries need /dev/shm, of which containers have 64 MB; ours are short.
    max_parallel_workers_per_gather: '0',
    max_logical_replication_workers: '0',
    // Saves three processes; our tables fit into memory.
    ...(major >= 18 ? { io_method: 'sync' } : {}),
    jit: 'off',

    // Each commit writes its own log, and the cache holds what settlements change: these two would
    // wake up five times a second for little.
    bgwriter_delay: '2s',
    wal_writer_delay: '2s',

    checkpoint_timeout: '5min',
    checkpoint_completion_target: '0.9',
    min_wal_size: '80MB',
    max_wal_size: '1GB',

    timezone: 'UTC',
    log_timezone: 'UTC',
    lc_messages: 'C',
    logging_collector: 'off',
    log_destination: 'stderr',
    log_checkpoints: 'off',
    log_line_prefix: '%m [%p] ',
  };
  return [
    '-D',
    clusterDir,
    ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ];
}
