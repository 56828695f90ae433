/**
 * Runs the image of deploy/Dockerfile as a container engine would and prints what it measured; ends
 * with an error when it breaks a promise of deploy/README.md. `scripts/release-container.ts` starts it
 * in a network of its own: `container-drill.ts IMAGE ROOTFS FOLDER`.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { startOwnPostgres } from '../harness/own-postgres.ts';
import { until } from '../harness/until.ts';
import { type Container, type ContainerOptions, readImage, startContainer } from './run-container.ts';

/** The goal for the first billed response, after the start. */
const firstResponseMs = 30_000;
/** A user that no /etc/passwd names. */
const unnamed = '54321:54321';
const deploy = join(import.meta.dirname, '../../deploy');
const direct = 'http://127.0.0.1:8787';

const [name = '', rootfs = '', folder = ''] = process.argv.slice(2);
execFileSync('ip', ['link', 'set', 'lo', 'up']);
const image = readImage(name, rootfs);
const report = (line: string): void => console.log(`${line} (load ${loadavg()[0]?.toFixed(1)})`);

assertSlim();
await single();
await unnamedUser();
await full();

/** Nothing that compiles or installs, and neither library that the archive brings. */
function assertSlim(): void {
  const unneeded = ['npm', 'npx', 'gcc', 'cc', 'make', 'python3', 'libatomic.so.1', 'libgomp.so.1'];
  const names = unneeded.flatMap((one) => ['-o', '-not', '-type', 'd', '-name', one]).slice(1);
  const found = execFileSync('find', [join(rootfs, 'usr'), '(', ...names, ')'], { encoding: 'utf8' });
  assert.equal(found, '');
  const kb = Number(execFileSync('du', ['-sk', rootfs], { encoding: 'utf8' }).split('\t')[0]);
  report(`the image: ${Math.round(kb / 1024)} MB unpacked`);
}

/** A folder with the rights that an engine copies from the image to a new volume. */
function volume(at: string, user = image.user): string {
  const path = join(folder, at);
  const [uid, gid] = user.split(':').map(Number);
  mkdirSync(path, { mode: 0o700 });
  chownSync(path, uid ?? 0, gid ?? 0);
  return path;
}

/** The profile `single`: the embedded database. */
async function single(): Promise<void> {
  const options = { volume: volume('single') };
  const beganMs = performance.now();
  const first = await startContainer(image, options);
  assert.ok(!first.isHealthy(), 'it is unhealthy before it listens');
  const key = await keyOf(first);
  const listeningMs = performance.now() - beganMs;
  const cost = await bill(direct, key);
  const respondedMs = performance.now() - beganMs;
  assert.ok(respondedMs < firstResponseMs, `the first response took ${respondedMs} ms`);
  report(
    `single: listening after ${seconds(listeningMs)}, first billed response after ${seconds(respondedMs)}`,
  );
  assert.ok(first.isHealthy(), 'it is healthy once it serves');
  assertConfined(first, options);
  assert.equal((await fetch(`${direct}/readyz`)).status, 200);
  const more = await drain(first, key);
  await restarted(options, key, cost + more);
}

/** Its user, its rights, and where it can write. */
function assertConfined(container: Container, options: ContainerOptions): void {
  const status = readFileSync(`/proc/${container.pid}/status`, 'utf8');
  const [uid] = (options.user ?? image.user).split(':');
  assert.match(status, new RegExp(`^Uid:\t${uid}\t${uid}\t${uid}\t${uid}$`, 'm'));
  assert.match(status, /^NoNewPrivs:\t1$/m);
  for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'])
    assert.match(status, new RegExp(`^${set}:\t0+$`, 'm'));
  const touch = (path: string) => container.exec(['touch', `${path}/written`]);
  for (const path of ['/', '/opt/naru', '/opt/naru/program', '/etc', '/usr/local/bin', '/var/tmp', '/home'])
    assert.match(touch(path).output, /Read-only file system/, path);
  for (const path of ['/tmp', image.volume]) assert.equal(touch(path).code, 0, path);
}

/** Stops it during a streamed response: that ends completely, and then the container with 0. */
async function drain(container: Container, key: string): Promise<number> {
  const response = await complete(direct, key, { stream: true, stream_options: { include_usage: true } });
  assert.ok(response.body !== null);
  const chunks: string[] = [];
  let stopped: Promise<number | null> | null = null;
  let beganMs = 0;
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    chunks.push(chunk);
    if (stopped !== null) continue;
    assert.ok(!chunk.includes('[DONE]'), 'the response is not complete');
    beganMs = performance.now();
    stopped = container.stop();
  }
  const text = chunks.join('');
  assert.match(text, /\ndata: \[DONE\]\n/);
  const pid = container.pid;
  assert.equal(await stopped, 0, container.err());
  assert.ok(!existsSync(`/proc/${pid}`));
  report(
    `${image.stopSignal} in a stream: complete, exit code 0 after ${seconds(performance.now() - beganMs)}`,
  );
  return costIn(text);
}

/** Starts again on the same volume: the key still has its charges, and the ledger is consistent. */
async function restarted(options: ContainerOptions, key: string, cost: number): Promise<void> {
  const beganMs = performance.now();
  const container = await startContainer(image, options);
  await until('it listens', () => container.out().includes('listening on '), 60_000);
  report(`restart on the same volume: listening after ${seconds(performance.now() - beganMs)}`);
  assert.ok(!container.out().includes('sk-naru-'), 'keys are shown once');
  const response = await fetch(`${direct}/api/v1/key`, { headers: { authorization: `Bearer ${key}` } });
  const { data } = (await response.json()) as { readonly data: { readonly usage: number } };
  assert.equal(data.usage.toFixed(6), cost.toFixed(6));
  const verified = container.exec(['naru', 'ledger', 'verify']);
  assert.equal(verified.code, 0, verified.output);
  console.log(verified.output.trim());
  assert.equal(await container.stop(), 0);
}

/** The embedded database needs a user with a name: another one gets the remedy. */
async function unnamedUser(): Promise<void> {
  const container = await startContainer(image, { volume: volume('unnamed', unnamed), user: unnamed });
  assert.equal(await container.ended, 1);
  assert.match(container.err(), /has no entry in \/etc\/passwd.*set database\.url/);
  report('a user without an entry in /etc/passwd, embedded database: exit code 1 with the remedy');
}

/** The profile `full`: as a user without a name, with PostgreSQL of Debian and nginx. */
async function full(): Promise<void> {
  const postgres = await startOwnPostgres(debianPostgres(), ['--locale=C'], { fsync: 'on' });
  const options = {
    volume: volume('full', unnamed),
    user: unnamed,
    env: [
      'NARU_CONFIG=/etc/naru/naru.yaml',
      `NARU_DATABASE_URL=postgres://naru:${postgres.password}@127.0.0.1:${postgres.port}/postgres?sslmode=no-verify`,
    ],
    files: { [join(deploy, 'compose-naru.yaml')]: '/etc/naru/naru.yaml' },
  };
  const beganMs = performance.now();
  const container = await startContainer({ ...image, command: [image.command[0] ?? '', 'up'] }, options);
  try {
    const key = await keyOf(container);
    const listeningMs = performance.now() - beganMs;
    await bill(direct, key);
    const respondedMs = performance.now() - beganMs;
    report(
      `full: listening after ${seconds(listeningMs)}, first billed response after ${seconds(respondedMs)}`,
    );
    assertConfined(container, options);
    assert.ok(container.isHealthy());
    await postgres.restart(() => assertUnhealthy(container));
    await until('it is healthy again', () => container.isHealthy(), 30_000);
    report('PostgreSQL stopped: unhealthy; started again: healthy');
    await behindNginx((origin) => bill(origin, key));
    const verified = container.exec(['naru', 'ledger', 'verify']);
    assert.equal(verified.code, 0, verified.output);
    console.log(verified.output.trim());
    assert.equal(await container.stop(), 0);
  } finally {
    if (existsSync(`/proc/${container.pid}`)) process.kill(container.pid, 'SIGKILL');
    await postgres.stop();
  }
}

/** Runs Debian's nginx with the configuration of deploy/, as Compose does, while `use` uses it. */
async function behindNginx(use: (origin: string) => Promise<unknown>): Promise<void> {
  const mounts = ['/run', '/var/lib/nginx', '/var/log/nginx'].map(
    (path) => `mount -t tmpfs tmpfs ${path} && `,
  );
  const command = `${mounts.join('')}exec nginx -c ${join(deploy, 'nginx.conf')} -g 'daemon off;'`;
  const own = ['--pdeathsig', 'KILL', '--', 'unshare', '--mount', 'sh', '-c', command];
  const nginx = spawn('setpriv', own, { stdio: ['ignore', 'inherit', 'inherit'] });
  const listens = (): Promise<boolean> =>
    fetch('http://127.0.0.1/healthz').then(
      ({ ok }) => ok,
      () => false,
    );
  try {
    await until('nginx listens', listens);
    await use('http://127.0.0.1');
    report('a billed response through nginx');
  } finally {
    nginx.kill();
  }
}

/** Fails unless the health check fails soon. */
function assertUnhealthy(container: Container): void {
  const untilMs = performance.now() + 30_000;
  while (container.isHealthy()) assert.ok(performance.now() < untilMs, 'it stays healthy');
}

function debianPostgres(): string {
  const parent = '/usr/lib/postgresql';
  const newest = readdirSync(parent).sort((a, b) => Number(b) - Number(a))[0];
  assert.ok(newest !== undefined, 'PostgreSQL is missing: apt-get install postgresql');
  return join(parent, newest, 'bin');
}

/** The key of the demo account, once the container listens. */
async function keyOf(container: Container): Promise<string> {
  let exitCode: number | null | undefined;
  void container.ended.then((code) => {
    exitCode = code;
  });
  await until(
    'it listens',
    () => {
      assert.equal(exitCode, undefined, container.err());
      return container.out().includes('listening on ');
    },
    60_000,
  );
  return /sk-naru-[\w-]+/.exec(container.out())?.[0] ?? assert.fail(container.out());
}

function complete(origin: string, key: string, more: object): Promise<Response> {
  return fetch(`${origin}/api/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'naru/demo',
      messages: [{ role: 'user', content: '나루가 뭐야?' }],
      ...more,
    }),
  });
}

/** Buys a response of the demo engine; its cost in won. */
async function bill(origin: string, key: string): Promise<number> {
  const response = await complete(origin, key, {});
  const text = await response.text();
  assert.equal(response.status, 200, text);
  assert.match(JSON.parse(text).choices[0].message.content, /나루/);
  return costIn(text);
}

function costIn(text: string): number {
  const cost = Number(/"cost":([\d.]+)/.exec(text)?.[1]);
  assert.ok(cost > 0, text);
  return cost;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
