import { spawn } from 'node:child_process';
import { readFileSync, readlinkSync, statSync } from 'node:fs';
import { Client } from 'pg';
import type { DatabaseAddress } from '../../src/store/connection.ts';
import { untilSucceeds } from '../harness/until.ts';
import { childrenOf, isRunning } from './naru-process.ts';

/** A PostgreSQL server of this machine that a drill kills and starts again as it was started. */
export interface ClusterServer {
  readonly name: string;
  readonly address: DatabaseAddress;
  /** SIGKILL to the server and its processes, all in one instant. */
  kill(): void;
  /** Resolves when it accepts connections again. */
  start(): Promise<void>;
}

/** Finds the process of a server; throws when it runs on another machine. */
export async function findServer(address: DatabaseAddress): Promise<ClusterServer> {
  const client = new Client({ ...address, database: 'postgres' });
  await client.connect();
  const { rows } = await client.query<{ folder: string }>(
    `SELECT current_setting('data_directory') AS folder`,
  );
  await client.end();
  const folder = rows[0]?.folder ?? '';
  const pid = Number(readFileSync(`${folder}/postmaster.pid`, 'utf8').split('\n')[0]);
  const process0 = readProcess(pid);
  let running = pid;
  return {
    name: `${address.host}:${address.port}`,
    address,
    kill() {
      const all = [running, ...childrenOf(running)];
      for (const each of all) if (isRunning(each)) process.kill(each, 'SIGKILL');
    },
    async start() {
      const { file, args, ...rights } = process0;
      const child = spawn(file, args, { ...rights, detached: true, stdio: 'ignore' });
      running = child.pid ?? 0;
      child.unref();
      await untilSucceeds(`${address.host}:${address.port} accepts connections`, 60_000, async () => {
        const probe = new Client({ ...address, database: 'postgres' });
        probe.on('error', () => {});
        await probe.connect();
        await probe.end();
      });
    },
  };
}

interface StartedAs {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly uid: number;
  readonly gid: number;
}

function readProcess(pid: number): StartedAs & { readonly args: string[] } {
  const [, ...args] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(0, -1);
  const { uid, gid } = statSync(`/proc/${pid}`);
  const [file, cwd] = [readlinkSync(`/proc/${pid}/exe`), readlinkSync(`/proc/${pid}/cwd`)];
  // With the home of another user it could not read its own files there.
  const variables = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').slice(0, -1);
  const env = Object.fromEntries(
    variables.map((each) => [each.slice(0, each.indexOf('=')), each.slice(each.indexOf('=') + 1)]),
  );
  return { file, args, cwd, env, uid, gid };
}
