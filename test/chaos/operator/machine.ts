import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, createWriteStream, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { collectOutput, endOf } from '../../cli/naru.ts';
import { eventually, until } from '../../harness/until.ts';
import { childrenOf, isRunning } from '../naru-process.ts';

const root = join(import.meta.dirname, '../../..');
const nobody = 65_534;

/** What a command of a page printed. */
export interface Printed {
  readonly command: string;
  readonly out: string;
  readonly err: string;
}

/** What the trial does in place of a command that would change the real machine. */
export type Hands = (command: string) => Promise<boolean>;

/**
 * A machine of the operator: a folder in place of `/`, in which the commands of the pages run as they
 * stand, with their paths below it. systemd is the one thing that it lacks: `systemctl` starts, stops
 * and signals what the written unit names.
 */
export class Machine {
  readonly folder: string;
  readonly port: number;
  readonly adminPort: number;
  readonly #places: readonly (readonly [string, string])[];
  readonly #hands: Hands;
  #unit: ChildProcess | null = null;

  constructor(
    folder: string,
    ports: { readonly api: number; readonly admin: number },
    site: string,
    hands: Hands,
  ) {
    this.folder = folder;
    this.port = ports.api;
    this.adminPort = ports.admin;
    this.#hands = hands;
    for (const name of [
      '',
      'bin',
      'home',
      'opt',
      'etc',
      'etc/systemd',
      'etc/nginx',
      'var',
      'var/lib',
      'var/tmp',
    ])
      this.#makeFolder(join(folder, name));
    const { uid, gid } = this.#user();
    this.#places = [
      ['install-service ', `install-service --to ${folder}/etc/systemd/naru.service --user nobody `],
      ['--write', `--listen 127.0.0.1:${ports.api} --write`],
      ['/usr/local/bin/naru', `${folder}/bin/naru`],
      ['/opt/naru', root],
      ...['/etc/naru', '/etc/nginx', '/var/lib/naru', '/var/tmp'].map(
        (path) => [path, folder + path] as const,
      ),
      ['runuser -u naru -- ', ''],
      [' -o naru -g naru', ''],
      [' -o root -g naru', ''],
      ['chown root:naru', `chown ${uid}:${gid}`],
      ['chgrp naru', `chgrp ${gid}`],
      ['http://127.0.0.1:8787', `http://127.0.0.1:${ports.api}`],
      ['https://naru.example.com', site],
    ];
  }

  /** A path of the pages, on this machine. */
  path(stated: string): string {
    return join(this.folder, stated);
  }

  /** The text of a page with the places of this machine. */
  placed(text: string): string {
    return this.#places.reduce((placed, [from, to]) => placed.replaceAll(from, () => to), text);
  }

  /** Writes a file as the operator's editor does. */
  write(stated: string, text: string): void {
    writeFileSync(this.path(stated), text, { mode: 0o640 });
    const { uid, gid } = this.#user();
    chownSync(this.path(stated), uid, gid);
  }

  /**
   * Runs one command of a page; again, where its message says so, as beside a scheduled backup. Throws
   * with its output when it fails.
   */
  async run(command: string): Promise<Printed> {
    const isEarly = (error: unknown): boolean => /try again in a few minutes/.test(String(error));
    return eventually(command, 180_000, () =>
      this.#runOnce(command).catch((error: unknown) => (isEarly(error) ? null : Promise.reject(error))),
    );
  }

  async #runOnce(command: string): Promise<Printed> {
    if (command.startsWith('systemctl ')) return this.#systemctl(command);
    if (await this.#hands(command)) return { command, out: '', err: '' };
    const child = this.#spawn('bash', ['-euo', 'pipefail', '-c', this.placed(command)]);
    const output = collectOutput(child);
    const code = await endOf(child);
    if (code !== 0) throw new Error(`${command}\nexit code ${code}\n${output.out()}${output.err()}`);
    return { command, out: output.out(), err: output.err() };
  }

  /** The rows that a command of `naru` prints with `--json`. */
  // biome-ignore lint/suspicious/noExplicitAny: a trial looks into output as an operator would.
  async rows(command: string): Promise<readonly any[]> {
    const { out } = await this.run(`${command} --json`);
    return out
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line));
  }

  /** A value of the metrics of its server. */
  async metric(name: string): Promise<number> {
    const text = await (await fetch(`http://127.0.0.1:${this.adminPort}/metrics`)).text();
    return Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'm').exec(text)?.[1] ?? Number.NaN);
  }

  /** Ends everything on it at once, as a loss of power does. */
  async loseUnit(): Promise<void> {
    const unit = this.#unit;
    if (unit?.pid === undefined) return;
    this.#unit = null;
    const pids = [unit.pid, ...descendantsOf(unit.pid)];
    for (const pid of pids) if (isRunning(pid)) process.kill(pid, 'SIGKILL');
    await until('the processes are gone', () => pids.every((pid) => !isRunning(pid)), 30_000);
  }

  async #systemctl(command: string): Promise<Printed> {
    const verb = command
      .split(' ')
      .find((word) => /^(start|stop|restart|reload|enable|daemon-reload)$/.test(word));
    if (verb === 'stop' || verb === 'restart') await this.#stop();
    if (verb === 'start' || verb === 'restart' || verb === 'enable') await this.#start();
    if (verb === 'reload') this.#unit?.kill('SIGHUP');
    return { command, out: '', err: '' };
  }

  async #stop(): Promise<void> {
    const unit = this.#unit;
    this.#unit = null;
    if (unit === null) return;
    const ended = unit.exitCode === null && unit.signalCode === null ? once(unit, 'exit') : null;
    unit.kill('SIGTERM');
    await ended;
  }

  /** Starts what the written unit names, and waits until it is ready. */
  async #start(): Promise<void> {
    if (this.#unit !== null) return;
    const unit = readFileSync(this.path('etc/systemd/naru.service'), 'utf8');
    const [, line = ''] = /^ExecStart=(.+)$/m.exec(unit) ?? [];
    const socket = readFileSync(this.path('etc/systemd/naru.socket'), 'utf8');
    const [, port = ''] = /^ListenStream=.*:(\d+)$/m.exec(socket) ?? [];
    const [program = '', ...args] = line.split(' ');
    const child = this.#spawn(program, [...args, '--port', port]);
    const log = createWriteStream(this.path('journal.log'), { flags: 'a' });
    child.stdout?.pipe(log, { end: false });
    child.stderr?.pipe(log, { end: false });
    this.#unit = child;
    await until(
      `the server of ${this.folder} is ready`,
      async () => {
        if (child.exitCode !== null)
          throw new Error(`the unit ended: ${readFileSync(this.path('journal.log'), 'utf8').slice(-2_000)}`);
        return (await fetch(`http://127.0.0.1:${this.port}/readyz`).catch(() => null))?.status === 200;
      },
      60_000,
    );
  }

  #spawn(program: string, args: readonly string[]): ChildProcess {
    const { uid, gid } = this.#user();
    const become = process.getuid?.() === 0 ? [`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups'] : [];
    return spawn('setpriv', ['--pdeathsig', 'TERM', ...become, program, ...args], {
      cwd: this.folder,
      env: {
        PATH: `${this.folder}/bin:${process.env['PATH']}`,
        HOME: join(this.folder, 'home'),
        LANG: 'C.UTF-8',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  }

  /** PostgreSQL does not run as root, and the service of the pages does not either. */
  #user(): { readonly uid: number; readonly gid: number } {
    const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
    return uid === 0 ? { uid: nobody, gid: nobody } : { uid, gid };
  }

  #makeFolder(path: string): void {
    mkdirSync(path, { recursive: true, mode: 0o755 });
    const { uid, gid } = this.#user();
    chownSync(path, uid, gid);
  }
}

function descendantsOf(pid: number): readonly number[] {
  return childrenOf(pid).flatMap((child) => [child, ...descendantsOf(child)]);
}
