import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { Database } from '../../src/store/database.ts';
import { type EmbeddedServer, startEmbedded } from '../../src/store/embedded/embedded.ts';
import { migrate } from '../../src/store/migrate.ts';
import { templateDatabase } from './database.ts';

/** A real embedded server in a folder of its own, with the template of which every test gets a copy; `stop` deletes everything. */
export async function startDatabaseServer(progress: (line: string) => void): Promise<EmbeddedServer> {
  const dataDir = mkdtempSync(join(tmpdir(), 'naru-tests-'));
  chmodSync(dataDir, 0o755);
  let isOver = false;
  const server = await startEmbedded({
    dataDir,
    uid: process.getuid?.() ?? -1,
    env: process.env,
    progress: (line) => {
      if (!isOver) progress(`tests: ${line}`);
    },
  });
  const stop = async (): Promise<void> => {
    isOver = true;
    await server.stop();
    rmSync(dataDir, { recursive: true, force: true });
  };
  try {
    await createTemplate(server.connection);
  } catch (error) {
    await stop();
    throw error;
  }
  return { connection: server.connection, stop };
}

async function createTemplate(connection: EmbeddedServer['connection']): Promise<void> {
  const admin = new Client(connection);
  await admin.connect();
  await admin.query(`CREATE DATABASE ${templateDatabase}`);
  await admin.end();
  const template = new Database({ ...connection, database: templateDatabase });
  await migrate(template);
  await template.close();
}
