import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { collectOutput, endOf } from '../cli/naru.ts';
import { eventually } from '../harness/until.ts';

/** An image that buildah has built. */
export interface Image {
  /** Its unpacked root file system. */
  readonly rootfs: string;
  /** `UID:GID` */
  readonly user: string;
  /** Each `NAME=VALUE`. */
  readonly env: readonly string[];
  readonly command: readonly string[];
  readonly folder: string;
  /** The mount point of its volume. */
  readonly volume: string;
  readonly stopSignal: NodeJS.Signals;
  readonly health: readonly string[];
  /** The limit of the health check, milliseconds. */
  readonly healthWithinMs: number;
}

/** What `docker run` or a Compose file would set. */
export interface ContainerOptions {
  /** The folder on this machine that is its volume. */
  readonly volume: string;
  /** Another `UID:GID` than that of the image. */
  readonly user?: string;
  readonly env?: readonly string[];
  /** Files of this machine, and where they are mounted read-only. */
  readonly files?: Readonly<Record<string, string>>;
}

/** A container that runs. */
export interface Container {
  /** What it wrote to stdout, and to stderr. */
  out(): string;
  err(): string;
  /** The number of its first process on this machine. */
  readonly pid: number;
  /** Its exit code. */
  readonly ended: Promise<number | null>;
  /** Runs a command in it, as its user; the exit code and the output. */
  exec(
    command: readonly string[],
    withinMs?: number,
  ): { readonly code: number | null; readonly output: string };
  /** Whether its health check passes. */
  isHealthy(): boolean;
  /** Sends the signal of the image. */
  stop(): Promise<number | null>;
}

interface Inspected {
  readonly User: string;
  readonly Env: readonly string[];
  readonly Entrypoint: readonly string[];
  readonly Cmd: readonly string[];
  readonly WorkingDir: string;
  readonly Volumes: Readonly<Record<string, object>>;
  readonly StopSignal: NodeJS.Signals;
  /** `Timeout` is in nanoseconds. */
  readonly Healthcheck: { readonly Test: readonly string[]; readonly Timeout: number };
}

/** Reads the configuration of an image; `rootfs` is where it is mounted. */
export function readImage(name: string, rootfs: string): Image {
  const inspected = JSON.parse(
    execFileSync('buildah', ['inspect', '--type', 'image', name], { encoding: 'utf8' }),
  );
  const config: Inspected = inspected.Docker.config;
  const [volume = '', ...others] = Object.keys(config.Volumes);
  assert.deepEqual(others, []);
  const [kind, ...health] = config.Healthcheck.Test;
  assert.equal(kind, 'CMD');
  return {
    rootfs,
    user: config.User,
    env: config.Env,
    command: [...config.Entrypoint, ...config.Cmd],
    folder: config.WorkingDir,
    volume,
    stopSignal: config.StopSignal,
    health,
    healthWithinMs: config.Healthcheck.Timeout / 1e6,
  };
}

/**
 * What a container engine does for `--read-only --tmpfs /tmp` without `--init`: $1 is the root file
 * system, $2 the volume, $3 its mount point, then pairs of files until `--`, then the command.
 */
const prepare = `set -eu
root=$1
mount --make-rprivate /
mount --bind "$root" "$root"
mount --bind "$2" "$root$3"
shift 3
while [ "$1" != -- ]; do
  mkdir -p "$root$(dirname "$2")"
  touch "$root$2"
  mount --bind "$1" "$root$2"
  mount -o remount,bind,ro "$root$2"
  shift 2
done
shift
mount -t tmpfs -o nosuid,nodev,noexec tmpfs "$root/tmp"
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for name in null zero full random urandom; do
  touch "$root/dev/$name"
  mount --bind "/dev/$name" "$root/dev/$name"
done
ln -s /proc/self/fd "$root/dev/fd"
mkdir "$root/dev/shm"
mount -t tmpfs -o size=64m,nosuid,nodev,noexec tmpfs "$root/dev/shm"
mount -o remount,bind,ro "$root"
cd "$root"
pivot_root . .
umount -l .
cd /
exec "$@"`;

/** Drops what `--cap-drop ALL --security-opt no-new-privileges` drops, and sets the environment. */
function asUser(image: Image, options: ContainerOptions, command: readonly string[]): readonly string[] {
  const [uid, gid] = (options.user ?? image.user).split(':');
  const drop = ['--clear-groups', '--no-new-privs', '--bounding-set=-all', '--inh-caps=-all'];
  const env = ['env', '-i', '-C', image.folder, ...image.env, ...(options.env ?? [])];
  return ['/usr/bin/setpriv', `--reuid=${uid}`, `--regid=${gid}`, ...drop, '--', ...env, ...command];
}

/**
 * Runs a container in namespaces of its own, the one of the network excepted. Needs root. The caller
 * stops it.
 */
export async function startContainer(image: Image, options: ContainerOptions): Promise<Container> {
  const { rootfs, volume } = image;
  const files = Object.entries(options.files ?? {}).flat();
  const child = spawn(
    'setpriv',
    [
      // It ends with this process.
      ...['--pdeathsig', 'KILL', '--', 'unshare'],
      ...['--mount', '--pid', '--ipc', '--uts', '--fork', '--kill-child=SIGKILL', 'sh', '-c', prepare, 'sh'],
      ...[rootfs, options.volume, volume, ...files, '--', ...asUser(image, options, image.command)],
    ],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const { out, err } = collectOutput(child);
  const ended = endOf(child);
  const pid = await firstProcess(child);
  const exec: Container['exec'] = (command, withinMs = 60_000) => {
    const enter = ['--target', String(pid), '--mount', '--pid', '--ipc', '--uts', '--root', '--wd=/'];
    const { status, stdout, stderr } = spawnSync('nsenter', [...enter, ...asUser(image, options, command)], {
      encoding: 'utf8',
      timeout: withinMs,
      killSignal: 'SIGKILL',
    });
    return { code: status, output: `${stdout}${stderr}` };
  };
  return {
    out,
    err,
    pid,
    ended,
    exec,
    isHealthy: () => exec(image.health, image.healthWithinMs).code === 0,
    stop() {
      process.kill(pid, image.stopSignal);
      return ended;
    },
  };
}

/** The child of unshare, which is process 1 of the container. */
function firstProcess({ pid = 0 }: ChildProcess): Promise<number> {
  return eventually('the container starts', 10_000, () => {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
    return children === '' ? null : Number(children);
  });
}
