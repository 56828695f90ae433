import { type Client, type ClientBase, type ClientConfig, types } from 'pg';
import { ClientWithTimeout } from './client-with-timeout.ts';

/** Where the database is, in the words of the PostgreSQL client. */
export type DatabaseAddress = Pick<ClientConfig, 'host' | 'port' | 'user' | 'database' | 'connectionString'>;

const int8 = 20;
const timestamptz = 1184;
const date = 1082;

/**
 * How values come back: bigint columns as `bigint`, instants as epoch milliseconds, days as `YYYY-MM-DD`. Nothing of money
 * or time ever passes through a float or a `Date`.
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
 * How long a statement of the process that serves may take, milliseconds. The largest, a batch of 500 settlements, takes about 60;
 * what takes 10 s is not answered any more: a network that swallows packets says nothing, for hours.
 */
export const answerWithinMs = 10_000;
/** How much longer the server waits with it: it must not be the first to say so, and must not keep locks for a client that left. */
const serverGraceMs = 2_000;
/** How long a connection may take to end in good order. */
const endWithinMs = 1_000;

/**
 * The client settings that every connection of ours has. With a limit, a statement that is not answered within so many
 * milliseconds fails as a loss of the connection, which must then be closed; and a transaction whose client has fallen silent ends
 * on the server too, so that nobody waits for its locks.
 */
export function clientConfig(address: DatabaseAddress, limitMs: number | null = null): ClientConfig {
  const { connectionString: url } = address;
  const config = {
    ...address,
    // A server of this machine speaks no TLS, whatever PGSSLMODE says of others.
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
 * The client takes `prefer`, `require` and `verify-ca` for `verify-full`, and writes ten lines on stderr about it, into the log and
 * into what a command says. Said in its own word it is silent.
 */
function verifying(url: string): string {
  if (/[?&]uselibpqcompat=true(&|$)/.test(url)) return url;
  return url.replace(/([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/g, '$1verify-full');
}

/**
 * Sets what durability needs on a fresh connection: a commit that was answered is on the disk of the server, and of the standbys
 * that it waits for, whatever the server's configuration says of others (`off` loses up to a second of commits in a crash,
 * `local` and `remote_write` those that a standby did not flush). The stronger `remote_apply` stays. An engine that does not know the setting
 * is left alone. Throws what the connection throws.
 */
export async function setDurable(client: ClientBase): Promise<void> {
  await client.query(
    `SELECT set_config('synchronous_commit', CASE setting WHEN 'remote_apply' THEN setting ELSE 'on' END, false)
     FROM (SELECT current_setting('synchronous_commit', true) AS setting) s WHERE setting IS NOT NULL`,
  );
}

/**
 * Opens one connection; throws when the server is not there within 5 s. `limitMs`: see `clientConfig`. What is asked of it before the
 * last answer has come is sent at once, and answered in its turn; COPY needs a connection that is not `pipelined`.
 */
export async function connect(
  address: DatabaseAddress,
  limitMs: number | null = null,
  pipelined = true,
): Promise<Client> {
  const client = new ClientWithTimeout({ ...clientConfig(address, limitMs), pipeline: pipelined });
  // Without a listener the loss of an idle connection would end the process; the next query tells whoever needs it.
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

/** Ends a connection, in good order if that goes within 1 s. Never throws. */
export async function disconnect(client: Client): Promise<void> {
  const { connection } = client as unknown as {
    readonly connection?: { readonly stream: { destroy(): void } };
  };
  const late = setTimeout(() => connection?.stream.destroy(), endWithinMs);
  await client.end().catch(() => {});
  clearTimeout(late);
}

/**
 * Whether an error says that the connection or the server is gone (and nothing about the statement): what it interrupted may
 * be tried again if it is idempotent.
 */
export function isConnectionLoss(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = (error as { code?: unknown }).code;
  if (typeof code === 'string' && /^(08|57P|53|ECONN|EPIPE|ENOENT|ETIMEDOUT|EACCES)/.test(code)) return true;
  return /connection terminated|connection error|timeout exceeded when trying to connect|timeout expired|query read timeout|not queryable|Connection ended/i.test(
    error.message,
  );
}

/** Whether an error says that the server is there and all of its connections are taken. */
export function isOutOfConnections(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === '53300';
}

/** Whether an error says that a row with the same key is there already. */
export function isDuplicate(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === '23505';
}

/** Whether an error says that the server takes no writes: it is a standby, or was told so. */
export function isReadOnly(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === '25006';
}

/** Whether an error is a serialization conflict or deadlock: the same transaction may be tried again at once. */
export function isConflict(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' && code.startsWith('40');
}
