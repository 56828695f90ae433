#!/usr/bin/env node
import cluster from 'node:cluster';
import { existsSync, readFileSync } from 'node:fs';
import { availableParallelism, homedir, hostname, userInfo } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ProcessContext } from './app/process-context.ts';
import type { Channel } from './app/workers/ipc.ts';
import type { CliContext } from './cli/context.ts';
import { runCli } from './cli/program.ts';
import { proxiesOf } from './config/proxies.ts';
import { OutputClosed } from './errors/output-closed.ts';
import { sendThrough } from './http/client/proxy.ts';
import { noticesOf } from './log/server-log.ts';
import { systemClock } from './time/clock.ts';

const root = resolve(fileURLToPath(new URL('../', import.meta.url)));

/** A container may run as a user that its system does not know. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.()}`;
  }
}

/** The process: environment, streams, signals, exit code. No other file reads these of `process`. */
const proc: ProcessContext = {
  env: process.env,
  pid: process.pid,
  uid: process.getuid?.() ?? -1,
  user: `${userName()}@${hostname()}`,
  cores: availableParallelism(),
  isWatched: process.stderr.isTTY === true,
  isTerminal: process.stdout.isTTY === true,
  nodePath: process.execPath,
  version: JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version,
  nodeVersion: process.versions.node,
  socket: JSON.parse(process.env['NARU_SOCKET'] ?? 'null'),
  root,
  // An installed release has no lockfile. Its folder may be replaced by another version.
  home: existsSync(join(root, 'package-lock.json')) ? root : homedir(),
  cwd: process.cwd(),
  out: (text) =>
    new Promise((resolve, reject) =>
      process.stdout.write(text, (error: NodeJS.ErrnoException | null | undefined) => {
        if (error) reject(error.code === 'EPIPE' ? new OutputClosed() : error);
        else resolve();
      }),
    ),
  err: (text) => void process.stderr.write(text),
  kill: (pid, signal) => void process.kill(pid, signal),
  onStop(stop) {
    let lastMs = Number.NEGATIVE_INFINITY;
    const once = (): void => {
      // One Ctrl-C arrives up to three times: from the terminal, and forwarded by npm and the
      // wrapper.
      const nowMs = systemClock.monotonic();
      if (nowMs - lastMs > 500) stop();
      lastMs = nowMs;
    };
    const signals = ['SIGINT', 'SIGTERM'] as const;
    for (const signal of signals) process.on(signal, once);
    // The parent holds the other end: when it is gone, nothing else can stop this process.
    process.on('disconnect', once);
    if (process.connected === false) queueMicrotask(once);
    return () => {
      for (const signal of signals) process.off(signal, once);
      process.off('disconnect', once);
    };
  },
  onReload(reload) {
    process.on('SIGHUP', reload);
    return () => void process.off('SIGHUP', reload);
  },
  onUncaught(crash) {
    process.on('uncaughtException', crash);
    return () => void process.off('uncaughtException', crash);
  },
  onWarning(warn) {
    process.on('warning', warn);
    return () => void process.off('warning', warn);
  },
  exit: (code) => process.exit(code),
  reportServing: () =>
    void (process.connected && process.send?.({ event: 'serving' }, undefined, {}, () => {})),
  forkWorker() {
    // All workers accept from one kernel queue, so a killed worker loses only the connections that
    // it accepted.
    cluster.schedulingPolicy = cluster.SCHED_NONE;
    // Each has its own copy of the socket, so that the last one to end does not close it.
    const sockets = proc.socket === null ? [] : [proc.socket.fd];
    cluster.setupPrimary({
      args: ['worker'],
      stdio: ['inherit', 'inherit', 'inherit', ...sockets, 'ipc'],
    });
    const worker = cluster.fork();
    worker.process.on('error', () => {});
    // Node emits it here again: a message to a worker that was just killed would crash the parent.
    worker.on('error', () => {});
    return {
      pid: worker.process.pid ?? 0,
      send: (message) => void (worker.isConnected() && worker.process.send(message, () => {})),
      onMessage: (listener) => void worker.on('message', listener),
      kill: () => void worker.process.kill('SIGKILL'),
      onEnd: (ended) => void worker.once('exit', (code, signal) => ended(signal ?? code)),
    };
  },
};

/** Runs a worker. It ignores terminal signals, which the parent handles; SIGTERM stops it. */
async function runWorker(): Promise<number> {
  for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => {});
  const channel: Channel = {
    send: (message) => void (process.connected && process.send?.(message, undefined, {}, () => {})),
    onMessage: (listener) => void process.on('message', listener),
  };
  const { work } = await import('./app/workers/worker.ts');
  return work(channel, (leave) => void process.on('SIGTERM', leave), proc);
}

async function run(): Promise<number> {
  // Those of upstreams are in the configuration.
  const proxies = proxiesOf(process.env);
  if (proxies !== null) await sendThrough(proxies);
  return cluster.isWorker ? runWorker() : runCli(cli, process.argv.slice(2));
}

// Each command loads only what it needs: listing accounts does not load the gateway.
const cli: CliContext = {
  ...proc,
  openOperatorService: async (paths) =>
    (await import('./admin/open-operator-service.ts')).openOperatorService(paths, proc),
};

if (cluster.isPrimary) process.channel?.unref();
process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
  if (code === 'EPIPE') return;
  proc.err(`naru: cannot write the output (${code}); it is incomplete\n`);
  process.exit(1);
});
process.stderr.on('error', () => {});
run().then(
  (code) => process.exit(code),
  async (error: unknown) => {
    const { formatError: explain } = await import('./admin/format-error.ts');
    if (cluster.isWorker) noticesOf(proc)('worker_failed', explain(error), 'error');
    else proc.err(`naru: ${explain(error)}\n`);
    process.exit(1);
  },
);
