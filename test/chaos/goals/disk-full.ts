import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { type EmbeddedServer, startEmbedded } from '../../../src/postgres/embedded.ts';
import { Database } from '../../../src/store/database.ts';
import { migrate } from '../../../src/store/migrate.ts';
import { type DatabaseFault, judge } from './database-faults.ts';
import type { GoalRun, Outcome } from './goal.ts';
import { pause, startStage } from './stage.ts';

const bytes = 320 * 1024 * 1024;

/**
 * A disk of 320 MiB in memory; null where mounting is not allowed. It is unmounted when its last
 * user releases it.
 */
function mountDisk(folder: string): (() => void) | null {
  mkdirSync(folder, { recursive: true });
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes},mode=0755`, 'naru-chaos', folder]);
  if (mounted.status !== 0) return null;
  return () => void spawnSync('umount', ['-l', folder]);
}

/** Fills the disk, and again whenever space is freed; returns the function that frees it. */
function fill(folder: string): () => void {
  const ballast = join(folder, 'ballast');
  const more = (): void => {
    const args = ['if=/dev/zero', `of=${ballast}`, 'bs=4096', `count=${bytes / 4096}`];
    spawnSync('dd', [...args, 'oflag=append', 'conv=notrunc']);
  };
  more();
  const timer = setInterval(more, 300);
  return () => {
    clearInterval(timer);
    rmSync(ballast, { force: true });
  };
}

/** Whether PostgreSQL got ENOSPC. */
function wasRefused(dataDir: string): boolean {
  return readFileSync(join(dataDir, 'postgres.log'), 'latin1').includes('No space left on device');
}

/**
 * Full disks: under PostgreSQL, under the journal, under both. The first and the last need the
 * right to mount.
 */
export async function diskFull(run: GoalRun): Promise<readonly Outcome[]> {
  return [await underPostgres(run), await underBoth(run), await underJournal(run)];
}

const common = { holdMs: 20_000, unready: null, on: 'embedded' } as const;

async function underPostgres(run: GoalRun): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'naru-disk-'));
  chmodSync(folder, 0o755);
  const unmount = mountDisk(folder);
  if (unmount === null) return cannotMount('disk full under PostgreSQL');
  const server = await keepRunning(folder);
  const admin = new Client(server.connection);
  await admin.connect();
  await admin.query('CREATE DATABASE full_disk');
  await admin.end();
  const address = { ...server.connection, database: 'full_disk' };
  const fresh = new Database(address);
  await migrate(fresh);
  await fresh.close();
  const fault: DatabaseFault = {
    ...common,
    name: 'disk full under PostgreSQL',
    serves: false,
    proof: () => wasRefused(folder),
    begin: async () => {
      const empty = fill(folder);
      return async () => empty();
    },
  };
  const stage = await startStage({ database: address });
  try {
    return await judge(stage, fault, run);
  } finally {
    await stage.end();
    await server.stop();
    unmount();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A server that is started again when it ends, as an external one is. */
async function keepRunning(dataDir: string): Promise<EmbeddedServer> {
  const uid = process.getuid?.() ?? -1;
  let isOver = false;
  const start = () =>
    startEmbedded({ dataDir, uid, env: process.env, progress: () => {}, onExit: () => void again() });
  const again = async (): Promise<void> => {
    while (!isOver) {
      running = start();
      if (await running.then(Boolean, () => pause(500))) return;
    }
  };
  let running = start();
  const { connection } = await running;
  return {
    connection,
    async stop() {
      isOver = true;
      await running.then((server) => server.stop()).catch(() => {});
    },
  };
}

async function underBoth(run: GoalRun): Promise<Outcome> {
  const name = 'disk full under PostgreSQL and journal';
  const folder = { path: '', unmount: null as (() => void) | null };
  const stage = await startStage({
    database: 'embedded',
    launched: true,
    prepare: ({ dataDir }) => {
      folder.path = dataDir;
      folder.unmount = mountDisk(dataDir);
    },
  });
  try {
    if (folder.unmount === null) return cannotMount(name);
    const begin = async (): Promise<() => Promise<void>> => {
      const empty = fill(folder.path);
      return async () => empty();
    };
    return await judge(
      stage,
      { ...common, name, serves: false, begin, proof: () => wasRefused(folder.path) },
      run,
    );
  } finally {
    // The folder is deleted at the end, which a mount would hinder.
    await stage.naru.stop();
    folder.unmount?.();
    await stage.end();
  }
}

/**
 * Writes of the process beyond 8 KiB of a file fail: the same for a journal, and any user may limit
 * its own process.
 */
async function underJournal(run: GoalRun): Promise<Outcome> {
  const limit = (pid: number, most: string): void => {
    const { status } = spawnSync('prlimit', ['--pid', String(pid), `--fsize=${most}:`]);
    if (status !== 0) throw new Error('prlimit of util-linux is needed');
  };
  const stage = await startStage({ database: 'cutter' });
  const { pid } = stage.naru;
  const begin = async (): Promise<() => Promise<void>> => {
    limit(pid, '8192');
    return async () => limit(pid, 'unlimited');
  };
  const proof = (): boolean => stage.site.log.join('').includes('"event":"journal');
  try {
    return await judge(
      stage,
      { ...common, name: 'disk full under the journal', serves: true, proof, begin },
      run,
    );
  } finally {
    await stage.end();
  }
}

function cannotMount(name: string): Outcome {
  const found = 'not run: mounting a small disk requires root';
  return {
    name: `database: ${name}`,
    wanted: '500 server at worst, recovery by itself, exact',
    found,
    met: null,
  };
}
