import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { createInterface, type Interface } from 'node:readline';

/** Where a process runs: what is measured has a core to itself, all else shares the other. */
export const TARGET_CORE = 0;
export const LOAD_CORE = 1;

/**
 * Whether processes can be pinned here (Linux, util-linux, two cores). Without it the figures mean
 * little.
 */
export const canPin =
  existsSync('/usr/bin/taskset') && existsSync('/usr/bin/setpriv') && availableParallelism() > 1;

/** What to run. */
export interface ChildSpec {
  readonly name: string;
  readonly command: readonly string[];
  /** Null: on any core. */
  readonly core: number | null;
  /** Further environment variables. */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * The process has started when standard output or error has a line like this. Null when there is
   * nothing to wait for.
   */
  readonly ready: RegExp | null;
  /** The time limits of the start and of the end. */
  readonly limitMs: number;
}

/** A process of ours. */
export interface Child {
  readonly pid: number;
  /** The match of the `ready` line. */
  readonly started: RegExpExecArray | null;
  /**
   * Sends one line and gives the next line of standard output. Rejects when the process ends
   * instead.
   */
  request(line: string): Promise<string>;
  /** Sends SIGTERM, then SIGKILL. Resolves when the process has exited. */
  stop(): Promise<void>;
}

/**
 * Starts a pinned process that does not outlive this one, and waits until it is ready. Rejects with
 * its last output.
 */
export async function startChild(spec: ChildSpec): Promise<Child> {
  const [file = '', ...args] = pinned(spec.command, spec.core);
  const child = spawn(file, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
    env: { ...process.env, ...spec.env },
  });
  const tail: string[] = [];
  const exited = once(child, 'exit').catch(() => []);
  child.stdin.on('error', () => {});
  const output = createInterface({ input: child.stdout });
  const errors = createInterface({ input: child.stderr });
  for (const lines of [output, errors]) lines.on('line', (line) => keepTail(tail, line));
  const gone = exited.then(() => {
    throw new Error(`${spec.name} ended by itself. Its last output:\n${tail.join('\n')}`);
  });
  gone.catch(() => {});
  const stop = (): Promise<void> => end(child, exited, spec.limitMs);
  try {
    const started =
      spec.ready === null ? null : await withLimit(spec, [seen([output, errors], spec.ready), gone]);
    if (child.pid === undefined) throw new Error(`${spec.name} could not be started`);
    return {
      pid: child.pid,
      started,
      stop,
      request: async (line) => {
        const response = once(output, 'line').then(([text]) => String(text));
        child.stdin.write(`${line}\n`);
        return await Promise.race([response, gone]);
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * The command pinned to one core (null: to none) and tied to the life of this process; unchanged
 * where that is not possible.
 */
export function pinned(command: readonly string[], core: number | null): readonly string[] {
  if (!canPin) return command;
  const pin = core === null ? [] : ['taskset', '-c', String(core)];
  return ['setpriv', '--pdeathsig', 'TERM', ...pin, ...command];
}

function keepTail(tail: string[], line: string): void {
  tail.push(line);
  if (tail.length > 20) tail.shift();
}

function seen(sources: readonly Interface[], pattern: RegExp): Promise<RegExpExecArray> {
  return new Promise((resolve) => {
    const look = (line: string): void => {
      const match = pattern.exec(line);
      if (match !== null) resolve(match);
    };
    for (const lines of sources) lines.on('line', look);
  });
}

async function withLimit<T>(spec: ChildSpec, racers: readonly Promise<T>[]): Promise<T> {
  const limit = Promise.withResolvers<never>();
  const message = `${spec.name} was not ready after ${spec.limitMs} ms`;
  const timer = setTimeout(() => limit.reject(new Error(message)), spec.limitMs);
  return await Promise.race([...racers, limit.promise]).finally(() => clearTimeout(timer));
}

/** By process, then by process group: both are only ours, since each child leads its own group. */
async function end(child: ChildProcess, exited: Promise<unknown>, limitMs: number): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.pid !== undefined && process.kill(-child.pid, 'SIGKILL'), limitMs);
  await exited;
  clearTimeout(timer);
}
