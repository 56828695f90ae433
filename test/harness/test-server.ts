import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { ensurePartitions } from '../../src/generations/partitions.ts';
import { clusterDirOf } from '../../src/postgres/cluster-dir.ts';
import { startEmbedded } from '../../src/postgres/embedded.ts';
import type { DatabaseAddress } from '../../src/store/connection.ts';
import { Database } from '../../src/store/database.ts';
import { migrate } from '../../src/store/migrate.ts';
import { templateDatabase } from './database.ts';

/** The database server that tests share, with the template of their databases. */
export interface TestServer {
  readonly connection: DatabaseAddress;
  /** The folder of a cluster that has the schema and no rows, for tests to copy. */
  readonly emptyCluster: string;
  /** Stops it and deletes everything that it had. */
  stop(): Promise<void>;
}

/** Enough for eight processes of tests, some with several gateways. */
const maxConnections = 300;

/** Starts a real embedded server in its own folder; `log` gets the slow steps. */
export async function startTestServer(log: (line: string) => void): Promise<TestServer> {
  const dataDir = mkdtempSync(join(tmpdir(), 'naru-tests-'));
  chmodSync(dataDir, 0o755);
  let isOver = false;
  const options = {
    dataDir,
    uid: process.getuid?.() ?? -1,
    env: process.env,
    maxConnections,
    progress: (line: string) => {
      if (!isOver) log(line);
    },
  };
  const emptyCluster = join(dataDir, 'empty-cluster');
  const first = await startEmbedded(options);
  await migrateAt(first.connection).finally(() => first.stop());
  execFileSync('cp', ['-a', clusterDirOf(dataDir), emptyCluster]);
  const server = await startEmbedded(options);
  const stop = async (): Promise<void> => {
    isOver = true;
    await server.stop();
    rmSync(dataDir, { recursive: true, force: true });
  };
  try {
    await createTemplate(server.connection);
    return { connection: server.connection, emptyCluster, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Creates the template of the tests' databases again. */
export async function createTemplate(connection: DatabaseAddress): Promise<void> {
  await dropTemplate(connection);
  await asAdmin(connection, `CREATE DATABASE ${templateDatabase}`);
  await migrateAt({ ...connection, database: templateDatabase });
}

/** With the partitions of the present months, which every gateway would create. */
async function migrateAt(address: DatabaseAddress): Promise<void> {
  const database = new Database(address);
  try {
    await migrate(database);
    await ensurePartitions(database, Date.now());
  } finally {
    await database.close();
  }
}

/** Removes it again, from a server that continues to run. */
export async function dropTemplate(connection: DatabaseAddress): Promise<void> {
  await asAdmin(connection, `DROP DATABASE IF EXISTS ${templateDatabase}`);
}

async function asAdmin(connection: DatabaseAddress, sql: string): Promise<void> {
  const admin = new Client(connection);
  await admin.connect();
  await admin.query(sql);
  await admin.end();
}
