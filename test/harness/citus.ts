import { Client } from 'pg';
import { type DatabaseAddress, disconnect } from '../../src/store/connection.ts';
import { Database } from '../../src/store/database.ts';
import { migrate } from '../../src/store/migrate.ts';
import { distributeTables } from '../../src/store/placement/distribution.ts';
import { connectTo, readShardTables } from '../../src/store/placement/shard-tables.ts';

/** The variable in which `npm run test:postgres` passes the workers of a Citus coordinator. */
export const workersVariable = 'NARU_TEST_WORKERS';

/** Where the workers are; none: the tests' server distributes nothing. */
export function workersOfServer(): readonly DatabaseAddress[] {
  return JSON.parse(process.env[workersVariable] ?? '[]') as DatabaseAddress[];
}

/** The parts of a URL, to which each test adds its own database name. */
export function addressOf(connectionString: string): DatabaseAddress {
  const { host, port, user, password, ssl, database = 'postgres' } = new Client({ connectionString });
  return {
    host,
    port,
    database,
    ssl,
    ...(user === undefined ? {} : { user }),
    ...(password == null ? {} : { password }),
  } as DatabaseAddress;
}

/** The workers of `--workers`, which the user of the URL reaches with its password. */
export function workersOf(stated: string, address: DatabaseAddress): readonly DatabaseAddress[] {
  return stated
    .split(',')
    .filter((each) => each !== '')
    .map((each) => {
      const [host = '', port = '5432'] = each.split(':');
      return { ...address, host, port: Number(port) };
    });
}

/** The options of a test that cannot pass on a distributed database, for this reason. */
export function unlessDistributed(reason: string): { readonly skip: string | false } {
  return { skip: workersOfServer().length > 0 ? reason : false };
}

/** The options of a test of a distributed database, which cannot show anything on one server. */
export function onlyDistributed(reason: string): { readonly skip: string | false } {
  return { skip: workersOfServer().length > 0 ? false : reason };
}

/** Creates a database on the coordinator and its workers, with the distributed schema. */
export async function createDistributed(
  server: DatabaseAddress,
  name: string,
  shardCount = 8,
): Promise<void> {
  const workers = workersOfServer();
  for (const address of [server, ...workers]) {
    await run({ ...address, database: 'postgres' }, [
      'SET citus.enable_ddl_propagation TO off',
      `CREATE DATABASE ${name}`,
      // Enough for several on each worker, and a quarter of the time to create them.
      `ALTER DATABASE ${name} SET citus.shard_count = ${shardCount}`,
      // Tests add triggers to tables, and lift those of the books.
      `ALTER DATABASE ${name} SET citus.enable_unsafe_triggers = on`,
    ]);
    await run({ ...address, database: name }, ['CREATE EXTENSION citus']);
  }
  await run({ ...server, database: name }, [
    `SELECT citus_set_coordinator_host('${server.host}', ${server.port})`,
    ...workers.map(({ host, port }) => `SELECT citus_add_node('${host}', ${port})`),
  ]);
  const database = new Database({ ...server, database: name }, 1);
  await migrate(database);
  await database.transaction(distributeTables);
  await database.close();
}

/** Drops a database on the coordinator and its workers. */
export async function dropDistributed(server: DatabaseAddress, name: string): Promise<void> {
  for (const address of [server, ...workersOfServer()])
    await run({ ...address, database: 'postgres' }, [
      'SET citus.enable_ddl_propagation TO off',
      `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`,
    ]);
}

const waiting =
  "SELECT pid FROM pg_locks WHERE locktype = 'relation' AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";

/** Whether a statement waits for a lock of a table, at any server of this database. */
export async function isTableAwaited(address: DatabaseAddress): Promise<boolean> {
  return (await onServers(address, waiting)) > 0;
}

/** Ends the connections of the statements that wait for a lock of a table; returns their number. */
export function killWaiting(address: DatabaseAddress): Promise<number> {
  return onServers(address, `SELECT pg_terminate_backend(pid) FROM (${waiting}) w`);
}

/**
 * Locks a table of accounts, at every server that has shards of it, until the function that it
 * returns is called.
 */
export async function lockTable(
  database: Database,
  table: string,
  mode: 'SHARE' | 'ACCESS EXCLUSIVE',
): Promise<() => Promise<void>> {
  const servers = await readShardTables(database);
  const locks =
    servers.length === 0
      ? [{ client: await database.connect(60_000), tables: [table] }]
      : await Promise.all(
          servers.map(async (server) => ({
            client: await connectTo(database.address, server),
            tables: server.shards.flatMap(({ tables }) => tables.get(table) ?? []),
          })),
        );
  for (const { client, tables } of locks) {
    if (servers.length > 0) await client.query('SET citus.enable_manual_changes_to_shards TO on');
    await client.query('BEGIN');
    await client.query(`LOCK TABLE ${tables.join(', ')} IN ${mode} MODE`);
  }
  return async () => {
    await Promise.all(locks.map(({ client }) => disconnect(client)));
  };
}

/** Runs a statement at every server of a database; returns the number of rows. */
async function onServers(address: DatabaseAddress, statement: string): Promise<number> {
  const servers = [
    address,
    ...workersOfServer().map((worker) => ({ ...worker, database: address.database })),
  ];
  const found = await Promise.all(servers.map((server) => run(server as DatabaseAddress, [statement])));
  return found.reduce((sum, rows) => sum + rows, 0);
}

/** Returns the number of rows of the last statement. */
async function run(address: DatabaseAddress, statements: readonly string[]): Promise<number> {
  const client = new Client(address);
  await client.connect();
  try {
    let rows = 0;
    for (const statement of statements) rows = (await client.query(statement)).rowCount ?? 0;
    return rows;
  } finally {
    await client.end();
  }
}
