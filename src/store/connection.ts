import { type Client, type ClientBase, type ClientConfig, types } from 'pg';
import { ClientWithTimeout } from './client-with-timeout.ts';

/** The address of the database, in the terms of the PostgreSQL client. */
export type DatabaseAddress = Pick<ClientConfig, 'host' | 'port' | 'user' | 'database' | 'connectionString'>;

const int8 = 20;
const timestamptz = 1184;
const date = 1082;

/**
 * How values are parsed: bigint columns as `bigint`, instants as epoch milliseconds, days as
 * `YYYY-MM-DD`. Neither money nor time ever passes through a float or a `Date`.
 */
const parsers = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') => {
    if (oid === int8) return (text: string) => BigInt(text);
    if (oid === timestamptz)
      return (text: string) => Date.parse(text.replace(' ', 'T').replace(/([+-]\d\d)$/, '$1:00'));
    if (oid === date) return (text: string) => text;
    return types.getTypeParser(oid, format);
  }) as typeof types.getTypeParser,
};

/**
 * How long a statement of the serving process may take, milliseconds. The largest, a batch of 500
 * settlements, takes about 60. After 10 s there will be no response: a network that swallows
 * packets reports nothing for hours.
 */
export const statementTimeoutMs = 10_000;
/**
 * How much longer the server waits: it must not time out first, and must not keep locks for a
 * client that is gone.
 */
const serverGraceMs = 2_000;
/** How long a connection may take to close. */
const closeTimeoutMs = 1_000;

/**
 * The client settings of every connection. With a limit, a statement without a response within so
 * many milliseconds fails as a connection loss, and the connection must then be closed. A
 * transaction whose client sends nothing ends on the server too, so that its locks are released.
 */
export function clientConfig(address: DatabaseAddress, limitMs: number | null = null): ClientConfig {
  const { connectionString: url } = address;
  const config = {
    ...address,
    // A server on this machine has no TLS, whatever PGSSLMODE states for others.
    ...(url === undefined
      ? { ssl: false, sslnegotiation: 'postgres' as const }
      : { connectionString: verifying(url) }),
    types: parsers,
    application_name: 'naru',
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
    options: '-c timezone=UTC',
  };
  if (limitMs === null) return config;
  const serverMs = limitMs + serverGraceMs;
  return {
    ...config,
    query_timeout: limitMs,
    options: `${config.options} -c statement_timeout=${serverMs} -c idle_in_transaction_session_timeout=${serverMs}`,
  };
}

/**
 * The client treats `prefer`, `require` and `verify-ca` as `verify-full`, and prints a ten-line
 * warning on stderr, into the log and the output of commands. With `verify-full` in the URL it
 * prints nothing.
 */
function verifying(url: string): string {
  if (/[?&]uselibpqcompat=true(&|$)/.test(url)) return url;
  return url.replace(/([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/g, '$1verify-full');
}

/**
 * Makes commits on a fresh connection durable: a commit with a response is on the disk of the
 * server, and of the standbys that it waits for, whatever the server's configuration. (`off` loses
 * up to a second of commits in a crash, `local` and `remote_write` those that a standby did not
 * flush.) The stronger `remote_apply` stays. An engine without the setting is left as it is. Throws
 * what the connection throws.
 */
export async function setDurable(client: ClientBase): Promise<void> {
  await client.query(
    `SELECT set_config('synchronous_commit', CASE setting WHEN 'remote_apply' THEN setting ELSE 'on' END, false)
     FROM (SELECT current_setting('synchronous_commit', true) AS setting) s WHERE setting IS NOT NULL`,
  );
}

/**
 * Opens one connection; throws when the server is not there within 5 s. `limitMs`: see
 * `clientConfig`. Statements are sent at once, without waiting for earlier responses; COPY needs a
 * connection that is not `pipelined`.
 */
export async function connect(
  address: DatabaseAddress,
  limitMs: number | null = null,
  pipelined = true,
): Promise<Client> {
  const client = new ClientWithTimeout({ ...clientConfig(address, limitMs), pipeline: pipelined });
  // Without a listener the loss of an idle connection would end the process; the next query reports
  // it.
  client.on('error', () => {});
  await client.connect();
  try {
    await setDurable(client);
  } catch (error) {
    await disconnect(client);
    throw error;
  }
  return client;
}

/** The same database at another server of its cluster. */
export function addressAt(
  address: DatabaseAddress,
  { host, port }: { readonly host: string; readonly port: number },
): DatabaseAddress {
  if (address.connectionString === undefined) return { ...address, host, port };
  const url = new URL(address.connectionString);
  for (const name of ['host', 'port']) url.searchParams.delete(name);
  url.hostname = host;
  url.port = String(port);
  return { ...address, connectionString: url.href };
}

/** Closes a connection, gracefully if that takes at most 1 s. Never throws. */
export async function disconnect(client: Client): Promise<void> {
  const { connection } = client as unknown as {
    readonly connection?: { readonly stream: { destroy(): void } };
  };
  const timer = setTimeout(() => connection?.stream.destroy(), closeTimeoutMs);
  await client.end().catch(() => {});
  clearTimeout(timer);
}

/** Thrown in place of a wait for a database that is known to be away. */
export class DatabaseAway extends Error {
  override readonly name = 'DatabaseAway';
  /** The SQLSTATE of a failed connection. */
  readonly code = '08006';

  constructor(message = 'the database is away') {
    super(message);
  }
}

/**
 * Whether an error reports that the connection or the server is gone (and nothing about the
 * statement): an idempotent statement may be retried.
 */
export function isConnectionLoss(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = (error as { code?: unknown }).code;
  if (typeof code === 'string' && /^(08|57P|53|ECONN|EPIPE|ENOENT|ETIMEDOUT|EACCES)/.test(code)) return true;
  return clientLossOf(error) !== null;
}

/** Whether a lost connection shows by a response that did not come in time. */
export function isSilence(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return (error as { code?: unknown }).code === 'ETIMEDOUT' || clientLossOf(error) === 'silent';
}

/**
 * How the server was lost, for an error that the client library itself made: these have no code, so
 * their messages are compared, here and nowhere else. Null for any other error.
 */
export function clientLossOf({ message }: Error): 'silent' | 'closed' | null {
  if (/timeout exceeded when trying to connect|timeout expired|connection timeout/i.test(message))
    return 'silent';
  return /connection terminated|connection error|not queryable|connection ended/i.test(message)
    ? 'closed'
    : null;
}

/** Whether an error reports that the server is there and has no connection left. */
export function isOutOfConnections(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === '53300';
}

/** Whether an error is the server's own, with an SQLSTATE: it is there, and refused. */
export function isFromServer(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code);
}

/** Whether an error reports that a row with the same key exists. */
export function isDuplicate(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === '23505';
}

/**
 * Whether an error may report that. An engine that sends rows to other servers may pass on their
 * errors without the code.
 */
export function mayBeDuplicate(error: unknown): boolean {
  return isDuplicate(error) || (error as { code?: unknown } | null)?.code === 'XX000';
}

/** Whether an error reports that the server takes no writes: it is a standby, or read-only. */
export function isReadOnly(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === '25006';
}

/**
 * Whether an error is a serialization conflict or deadlock: the same transaction may be retried at
 * once.
 */
export function isConflict(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' && code.startsWith('40');
}
