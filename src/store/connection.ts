import { Client, type ClientConfig, types } from 'pg';

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

/** The client settings that every connection of ours has. */
export function clientConfig(address: DatabaseAddress): ClientConfig {
  return {
    ...address,
    types: parsers,
    application_name: 'naru',
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
    options: '-c timezone=UTC',
  };
}

/** Opens one connection; throws when the server is not there within 5 s. */
export async function connect(address: DatabaseAddress): Promise<Client> {
  const client = new Client(clientConfig(address));
  // Without a listener the loss of an idle connection would end the process; the next query tells whoever needs it.
  client.on('error', () => {});
  await client.connect();
  return client;
}

/**
 * Whether an error says that the connection or the server is gone (and nothing about the statement): what it interrupted may
 * be tried again if it is idempotent.
 */
export function isConnectionLoss(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = (error as { code?: unknown }).code;
  if (typeof code === 'string' && /^(08|57P|53|ECONN|EPIPE|ENOENT|ETIMEDOUT|EACCES)/.test(code)) return true;
  return /connection terminated|connection error|timeout exceeded when trying to connect|timeout expired|not queryable|Connection ended/i.test(
    error.message,
  );
}

/** Whether an error is a serialization conflict or deadlock: the same transaction may be tried again at once. */
export function isConflict(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' && code.startsWith('40');
}
