import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../harness/free-port.ts';
import { until } from '../harness/until.ts';

const root = join(import.meta.dirname, '../..');
/** A user's PATH often has no /usr/sbin. */
const binary = ['/usr/sbin/nginx', '/usr/bin/nginx', '/usr/local/sbin/nginx', '/usr/local/bin/nginx'].find(
  existsSync,
);
const unprivileged = 65_534;

/** A real nginx with `deploy/nginx.conf`, on its own port. */
export interface Nginx {
  readonly port: number;
  /** `http://HOST:PORT/api/v1` */
  readonly url: string;
  /** What it wrote to its error log. */
  log(): string;
  stop(): Promise<void>;
}

export interface NginxOptions {
  /** Ports of the Naru servers behind it, or their `HOST:PORT`. */
  readonly behind: readonly (number | string)[];
  /** The address that it listens on; 127.0.0.1 and a free port by default. */
  readonly at?: { readonly host: string; readonly port: number };
  /** A command that it runs under, and that command's arguments. */
  readonly under?: readonly string[];
  /** Whether the request rate is unlimited. */
  readonly unlimited?: boolean;
  /** The maximum concurrent requests of one client; the value of the file by default. */
  readonly connections?: number;
  /** The proxy whose X-Forwarded-For it trusts. */
  readonly believes?: string;
  /** Serves the console of this admin port on a port of its own, at `console.example.com`. */
  readonly console?: { readonly port: number; readonly admin: number };
}

/** Starts nginx without privileges; throws with the remedy when it is not installed. */
export async function startNginx(options: NginxOptions): Promise<Nginx> {
  if (binary === undefined)
    throw new Error('nginx is missing, and the edge cannot be tested without: apt-get install nginx');
  const folder = mkdtempSync(join(tmpdir(), 'naru-nginx-'));
  for (const name of ['body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']) mkdirSync(join(folder, name));
  if (options.console !== undefined) writeConsole(options.console, folder);
  const { host, port } = options.at ?? { host: '127.0.0.1', port: await freePort() };
  const log = join(folder, 'error.log');
  writeFileSync(log, '');
  writeFileSync(join(folder, 'nginx.conf'), configFor(options, `${host}:${port}`, folder));
  chmodSync(folder, 0o755);
  const isRoot = process.getuid?.() === 0;
  if (isRoot)
    for (const name of ['', 'body', 'proxy', 'error.log'])
      chownSync(join(folder, name), unprivileged, unprivileged);
  const drop = isRoot ? [`--reuid=${unprivileged}`, `--regid=${unprivileged}`, '--clear-groups'] : [];
  const nginx = [binary, '-p', folder, '-e', log, '-c', join(folder, 'nginx.conf'), '-g', 'daemon off;'];
  const started = [...(options.under ?? []), 'setpriv', '--pdeathsig', 'TERM', ...drop, ...nginx];
  const [command = '', ...args] = started;
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  const words: string[] = [];
  child.stderr?.setEncoding('utf8').on('data', (text: string) => words.push(text));
  const output = (): string => `${words.join('')}${readFileSync(log, 'utf8')}`;
  try {
    await until(
      'nginx listens',
      async () => {
        if (child.exitCode !== null) throw new Error(`nginx ended with ${child.exitCode}: ${output()}`);
        return isConnectable(host, port);
      },
      20_000,
    );
  } catch (error) {
    await end(child);
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
  return {
    port,
    url: `http://${host}:${port}/api/v1`,
    log: output,
    async stop() {
      await end(child);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/**
 * The deployed file with this host's ports and folders. Throws when it has changed so that one is
 * not found.
 */
function configFor(
  { behind, unlimited = false, connections = 1_000, believes, console }: NginxOptions,
  address: string,
  folder: string,
): string {
  const text = readFileSync(join(root, 'deploy/nginx.conf'), 'utf8');
  const servers = behind.map((each) => (typeof each === 'number' ? `127.0.0.1:${each}` : each));
  const lines = servers.map((server) => `server ${server} max_fails=0;`);
  const changes: readonly (readonly [string, string])[] = [
    ['user www-data;', ''],
    ['worker_rlimit_nofile 65536;', ''],
    ['worker_processes auto;', 'worker_processes 1;'],
    ['worker_connections 16384;', 'worker_connections 1000;'],
    ['/run/nginx.pid', `${folder}/nginx.pid`],
    ['/var/log/nginx/error.log', `${folder}/error.log`],
    ...['body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (name) => [`/var/lib/nginx/${name};`, `${folder}/${name};`] as const,
    ),
    ['listen 80 default_server;', `listen ${address} default_server;`],
    ['listen [::]:80 default_server;', ''],
    ['server 127.0.0.1:8787 max_fails=0;', lines.join('\n')],
    ['#server 127.0.0.1:8789 max_fails=0;', ''],
    ['limit_conn naru_open 1000;', `limit_conn naru_open ${connections};`],
    ...(unlimited ? [['rate=30r/s', 'rate=1000000r/s'] as const] : []),
    ...(believes === undefined
      ? []
      : [['#set_real_ip_from 10.0.0.0/8;', `set_real_ip_from ${believes};`] as const]),
    ...(console === undefined
      ? []
      : [['#include /etc/nginx/nginx-console.conf;', `include ${folder}/nginx-console.conf;`] as const]),
  ];
  return changed('deploy/nginx.conf', text, changes);
}

/** Writes the deployed file of the console for these ports, with a certificate of its own. */
function writeConsole({ port, admin }: { readonly port: number; readonly admin: number }, folder: string) {
  const name = 'deploy/nginx-console.conf';
  const live = '/etc/letsencrypt/live/console.example.com';
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  const files = ['-keyout', key, '-out', cert, '-subj', '/CN=console.example.com'];
  execFileSync('openssl', ['req', '-x509', ...kind, ...files], { stdio: 'ignore' });
  chmodSync(key, 0o644);
  const text = changed(name, readFileSync(join(root, name), 'utf8'), [
    ['listen 443 ssl http2;', `listen 127.0.0.1:${port} ssl http2;`],
    ['listen [::]:443 ssl http2;', ''],
    [`${live}/fullchain.pem`, cert],
    [`${live}/privkey.pem`, key],
    ['http://127.0.0.1:8788', `http://127.0.0.1:${admin}`],
  ]);
  writeFileSync(join(folder, 'nginx-console.conf'), text);
}

function changed(name: string, text: string, changes: readonly (readonly [string, string])[]): string {
  return changes.reduce((config, [from, to]) => {
    if (config.split(from).length !== 2) throw new Error(`${name} must have ${JSON.stringify(from)} once`);
    return config.replace(from, to);
  }, text);
}

async function isConnectable(host: string, port: number): Promise<boolean> {
  const socket = connect(port, host);
  const connected = await once(socket, 'connect').then(
    () => true,
    () => false,
  );
  socket.destroy();
  return connected;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}
