import { spawn } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { join } from 'node:path';
import type { ServerUser } from './server-user.ts';

/** The environment variables of a child process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * How a command ended: `ok` is exit status 0; `output` is stdout and stderr together, at most the
 * last 64 KiB.
 */
export interface CommandResult {
  readonly ok: boolean;
  readonly output: string;
}

/** Limits of one command. `user` null runs it as ourselves. */
export interface CommandOptions {
  readonly user: ServerUser | null;
  readonly env: Environment;
  readonly timeoutMs: number;
}

/**
 * Runs a command to its end. Never throws: a command that could not be started is not ok, with the
 * reason as its output.
 */
export function runCommand(
  file: string,
  args: readonly string[],
  options: CommandOptions,
): Promise<CommandResult> {
  return new Promise((resolve) => {
    let output = '';
    const collect = (chunk: Buffer): void => {
      output = (output + chunk.toString('utf8')).slice(-65_536);
    };
    try {
      const child = spawn(file, args, {
        ...identityOf(options.user),
        cwd: '/',
        env: postgresEnvironment(options.env),
        stdio: ['ignore', 'pipe', 'pipe'],
        timeout: options.timeoutMs,
        killSignal: 'SIGKILL',
      });
      child.stdout.on('data', collect);
      child.stderr.on('data', collect);
      child.on('error', (error) => resolve({ ok: false, output: `${output}${error.message}` }));
      child.on('close', (code, signal) => {
        if (signal !== null) output += `\nended by ${signal}`;
        resolve({ ok: code === 0, output });
      });
    } catch (thrown) {
      resolve({ ok: false, output: String(thrown) });
    }
  });
}

/**
 * The spawn options that make a child run as `user`. Node clears the supplementary groups with
 * them.
 */
export function identityOf(user: ServerUser | null): { uid?: number; gid?: number } {
  return user === null ? {} : { uid: user.uid, gid: user.gid };
}

/**
 * The environment of a PostgreSQL program: none of our secrets, none of the PG* variables that
 * would change its behaviour.
 */
export function postgresEnvironment(env: Environment): Record<string, string> {
  return { PATH: searchPath(env), LC_ALL: 'C', TZ: 'UTC' };
}

/** The full path of a program, by the PATH of `env`; null when it is not there. */
export function which(program: string, env: Environment): string | null {
  for (const dir of searchPath(env).split(':')) {
    const path = join(dir, program);
    try {
      accessSync(path, constants.X_OK);
      if (dir.startsWith('/') && statSync(path).isFile()) return path;
    } catch {
      // Not in this folder.
    }
  }
  return null;
}

function searchPath(env: Environment): string {
  return env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin';
}
