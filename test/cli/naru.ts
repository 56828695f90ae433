import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { formatError } from '../../src/admin/format-error.ts';
import { openOperatorService } from '../../src/admin/open-operator-service.ts';
import type { ProcessContext } from '../../src/app/process-context.ts';
import type { CliContext } from '../../src/cli/context.ts';
import { runCli } from '../../src/cli/program.ts';
import type { DatabaseAddress } from '../../src/store/connection.ts';
import { urlOf } from '../harness/database.ts';
import { copyEmptyCluster } from '../harness/empty-cluster.ts';
import { program } from '../harness/program.ts';
import { byTier } from '../harness/tier.ts';
import { eventually } from '../harness/until.ts';

export const root = join(import.meta.dirname, '../..');

/** Whom the audit log names without `--as`, in this process and in one of its own. */
export const systemUser = `${userInfo().username}@${hostname()}`;

/** How a command ended. */
export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
  /** The JSON object of every line of stdout; throws when a line is something else. */
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into output as an operator's script would.
  readonly rows: readonly any[];
  readonly tookMs: number;
}

/** A folder for one operator: a data directory, and a configuration when a test writes one. */
export interface Installation {
  readonly folder: string;
  readonly dataDir: string;
  /** Runs `naru` with this data directory. */
  run(...args: readonly string[]): Promise<Ended>;
  /** The same with `--json`. */
  json(...args: readonly string[]): Promise<Ended>;
  /** `naru up` on a free port; resolves when it listens. */
  up(...args: readonly string[]): Promise<Serving>;
  /** Writes `naru.yaml` into the folder and returns its path. */
  configure(tree: object): string;
  remove(): void;
}

/** The messages of a server's log, where stderr is no terminal. */
export function messagesOf(err: string): string {
  const rows = err
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { readonly message?: string });
  return rows.flatMap(({ message }) => (message === undefined ? [] : [`${message}\n`])).join('');
}

/** A `naru up` that listens. */
export interface Serving {
  readonly child: ChildProcess;
  /** `http://127.0.0.1:PORT` */
  readonly origin: string;
  /** Everything on stdout, and on stderr, so far. */
  out(): string;
  err(): string;
  readonly ended: Promise<number | null>;
  /** SIGTERM; resolves with the exit code. */
  stop(): Promise<number | null>;
}

/** The variables of a test run that would change what a command does. */
const hidden = ['NARU_DATA_DIR', 'NARU_CONFIG', 'NODE_TEST_CONTEXT', 'NODE_OPTIONS'];

function environment(): Record<string, string | undefined> {
  const inherited = Object.entries(process.env).filter(([name]) => !hidden.includes(name));
  // As the wrapper sets it: compiling without the cache costs each command another second.
  return { NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/compile'), ...Object.fromEntries(inherited) };
}

/** Commands that run in this process now. */
let running = 0;

/**
 * Runs `naru` without additions. In the quick tier a short command runs in this process, which
 * takes a tenth of the time, a start that fails included; a server, a command beside another one, and
 * all of the full tier are separate processes.
 */
export async function naru(...args: readonly string[]): Promise<Ended> {
  const beganMs = performance.now();
  const isHere = byTier(true, false) && running === 0;
  const { code, out, err } = isHere ? await runHere(args) : await runThere(args);
  return {
    code,
    out,
    err,
    get rows() {
      return out
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line));
    },
    tookMs: performance.now() - beganMs,
  };
}

interface Output {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

async function runThere(args: readonly string[]): Promise<Output> {
  const child = start(args);
  const { out, err } = collectOutput(child);
  const code = await endOf(child);
  return { code, out: out(), err: err() };
}

/** What `main.ts` does, with other ends of the streams. */
async function runHere(args: readonly string[]): Promise<Output> {
  const output: Record<'out' | 'err', string[]> = { out: [], err: [] };
  const proc: ProcessContext = {
    env: environment(),
    pid: process.pid,
    uid: process.getuid?.() ?? -1,
    user: systemUser,
    cores: 1,
    isWatched: false,
    isTerminal: false,
    version: JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version,
    nodePath: process.execPath,
    nodeVersion: process.versions.node,
    socket: null,
    root,
    home: root,
    cwd: tmpdir(),
    out: async (text) => void output.out.push(text),
    err: (text) => void output.err.push(text),
    kill: (pid, signal) => void process.kill(pid, signal),
    onStop: () => () => {},
    onReload: () => () => {},
    onUncaught: () => () => {},
    onWarning: () => () => {},
    exit: (code) => assert.fail(`the command ended its process with ${code}`),
    reportServing: () => assert.fail('the command serves: `up` of an installation starts servers'),
    forkWorker: () => assert.fail('only a server has workers'),
  };
  const context: CliContext = {
    ...proc,
    openOperatorService: (paths) => openOperatorService(paths, proc),
  };
  running += 1;
  try {
    const code = await runCli(context, args).catch((error: unknown) => {
      output.err.push(`naru: ${formatError(error)}\n`);
      return 1;
    });
    return { code, out: output.out.join(''), err: output.err.join('') };
  } finally {
    running -= 1;
  }
}

/**
 * `hasCluster`: the quick tier puts an empty cluster into the data directory, which the first
 * command would create.
 */
export function createInstallation({
  hasCluster = false,
}: {
  readonly hasCluster?: boolean;
} = {}): Installation {
  const folder = mkdtempSync(join(tmpdir(), 'naru-cli-'));
  // When we are root, PostgreSQL runs as another user, which must be able to get there.
  chmodSync(folder, 0o755);
  const dataDir = join(folder, 'data');
  if (hasCluster) copyEmptyCluster(dataDir);
  const run = (...args: readonly string[]): Promise<Ended> => naru(...args, '--data-dir', dataDir);
  return {
    folder,
    dataDir,
    run,
    json: (...args) => run(...args, '--json'),
    up: (...args) => serve(['up', '--port', '0', '--workers', '1', '--data-dir', dataDir, ...args]),
    configure(tree) {
      const file = join(folder, 'naru.yaml');
      writeFileSync(file, JSON.stringify({ admin: { port: 0 }, ...tree }));
      return file;
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/**
 * An installation whose commands all use this database, which spares them the start of an embedded
 * one.
 */
export function createInstallationOn(address: DatabaseAddress, tree: object = {}): Installation {
  const installation = createInstallation();
  const file = installation.configure({ ...tree, database: { url: urlOf(address) } });
  const { run, json, up } = installation;
  return {
    ...installation,
    run: (...args) => run(...args, '--config', file),
    json: (...args) => json(...args, '--config', file),
    up: (...args) => up(...args, '--config', file),
  };
}

async function serve(args: readonly string[]): Promise<Serving> {
  const child = start(args);
  const { out, err } = collectOutput(child);
  const ended = endOf(child);
  const listening = new Promise<string>((resolve) => {
    const look = (): void => {
      const port = /listening(?: on |","url":")http:\/\/127\.0\.0\.1:(\d+)/.exec(out())?.[1];
      if (port !== undefined) resolve(`http://127.0.0.1:${port}`);
    };
    child.stdout?.on('data', look);
  });
  const origin = await Promise.race([listening, ended]);
  if (typeof origin !== 'string') throw new Error(`naru up ended with ${origin}: ${err()}`);
  return {
    child,
    origin,
    out,
    err,
    ended,
    stop() {
      child.kill('SIGTERM');
      return ended;
    },
  };
}

function start(args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [program(), ...args], {
    cwd: tmpdir(),
    env: environment(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** The output of a child, as it arrives. */
export function collectOutput(child: ChildProcess): {
  readonly out: () => string;
  readonly err: () => string;
} {
  const output = { out: '', err: '' };
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    output.out += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    output.err += text;
  });
  return { out: () => output.out, err: () => output.err };
}

/**
 * The exit code of a child once its output has been read to the end; null when a signal ended it.
 */
export function endOf(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve) => child.on('close', (code) => resolve(code)));
}

/**
 * The same `naru` below the wrapper of bin/naru and `npm start`, below a shell in place of npm when
 * `victim` is `npm`. `wrapper` is the wrapper's pid once it has started something.
 */
export async function wrapped(
  victim: 'wrapper' | 'npm',
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly parent: ChildProcess; readonly wrapper: () => number }> {
  const argv = [join(root, 'scripts/with-node.mjs'), 'src/main.ts', ...args];
  const direct = victim === 'wrapper';
  // Without "& wait" the shell would become the wrapper instead of having it as its child.
  const parent = spawn(
    direct ? process.execPath : '/bin/sh',
    direct ? argv : ['-c', '"$@" & wait', 'npm', process.execPath, ...argv],
    {
      cwd: root,
      env: { ...environment(), ...env, ...(direct ? {} : { npm_lifecycle_event: 'start' }) },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  const pid = parent.pid ?? 0;
  const children = (): string => readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  await eventually('the wrapper', 5_000, () => (children() === '' ? null : true));
  const only = Number(children().split(' ')[0]);
  return { parent, wrapper: () => (direct ? pid : only) };
}
