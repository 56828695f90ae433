import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { Pool } from 'pg';
import type { DatabaseAddress } from '../../src/store/connection.ts';
import { Database } from '../../src/store/database.ts';
import { createDistributed, dropDistributed, workersOfServer } from './citus.ts';

/** The variable in which the test runner passes its server. */
export const serverVariable = 'NARU_TEST_SERVER';
/** A database with the schema, of which every test gets a copy. */
export const templateDatabase = 'naru_template';

/**
 * A test's own database, with the schema and no rows, on the real embedded server that the test
 * runner started.
 */
export interface TestDatabase {
  readonly address: DatabaseAddress;
  drop(): Promise<void>;
}

/** `template` null: a database without even the schema. */
export async function createTestDatabase(template: string | null = templateDatabase): Promise<TestDatabase> {
  const server = serverAddress();
  const name = `t_${randomBytes(6).toString('hex')}`;
  if (template !== null && workersOfServer().length > 0) {
    await createDistributed(server, name);
    return { address: { ...server, database: name }, drop: () => dropDistributed(server, name) };
  }
  await withAdmin(server, `CREATE DATABASE ${name}${template === null ? '' : ` TEMPLATE ${template}`}`);
  return {
    address: { ...server, database: name },
    drop: () => withAdmin(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  };
}

/** A test's own database, opened; it is gone after the test. */
export async function openTestDatabase(
  t: { readonly after: (close: () => Promise<void>) => void },
  options: { readonly poolSize?: number; readonly template?: null } = {},
): Promise<Database> {
  const { address, drop } = await createTestDatabase(options.template);
  const database = new Database(address, options.poolSize);
  t.after(async () => {
    await database.close();
    await drop();
  });
  return database;
}

/** The address as an operator writes it into the configuration. */
export function urlOf({ host, port, user, password, database }: DatabaseAddress & Secret): string {
  const who = password === undefined ? user : `${user}:${encodeURIComponent(password)}`;
  return `postgres://${who}@localhost/${database}?host=${encodeURIComponent(String(host))}&port=${port}`;
}

/** The password of a server that was given by its URL. */
interface Secret {
  readonly password?: string;
}

/** A connection to the server for a proxy: a unix socket, or TCP. */
export function connectTo({ host, port }: DatabaseAddress): Socket {
  const at = host ?? '';
  return at.startsWith('/')
    ? connect(join(at, `.s.PGSQL.${port}`))
    : connect({ host: at, port: port ?? 5432 });
}

/** Where the runner's server is; tests are run through `npm test`, which starts it. */
export function serverAddress(): DatabaseAddress {
  const stated = process.env[serverVariable];
  if (stated === undefined)
    throw new Error('run the tests with `npm test [files]`: it starts the database that they need');
  return JSON.parse(stated) as DatabaseAddress;
}

/** The connection of this process that creates and drops databases, by the server. */
const admins = new Map<string, Pool>();

/** A fresh connection for each statement takes longer than the statement that drops a database. */
function adminOf(server: DatabaseAddress): Pool {
  const key = JSON.stringify(server);
  const known = admins.get(key);
  if (known !== undefined) return known;
  const pool = new Pool({
    ...server,
    database: 'postgres',
    max: 1,
    idleTimeoutMillis: 0,
    allowExitOnIdle: true,
  });
  // A connection that is lost while idle is opened again by the next statement.
  pool.on('error', () => {});
  admins.set(key, pool);
  return pool;
}

async function withAdmin(server: DatabaseAddress, sql: string): Promise<void> {
  // Two concurrent copies of one template make PostgreSQL reject one of them for a moment.
  for (let tries = 1; ; tries += 1) {
    try {
      await adminOf(server).query(sql);
      return;
    } catch (error) {
      if (tries === 50 || !/being accessed by other users/.test(String(error))) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}
