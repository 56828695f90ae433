/**
 * An uncaught error: requests in flight complete, new ones are rejected, and another process takes
 * over.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { OperatorService } from '../../src/operations/operator-service.ts';
import { Database } from '../../src/store/database.ts';
import { collectOutput, createInstallation, endOf, wrapped } from '../cli/naru.ts';
import { createTestDatabase, urlOf } from '../harness/database.ts';
import { createPayer, operatorOn } from '../harness/payer.ts';
import { RawClient } from '../harness/raw-client.ts';
import { byTier, fullOnly } from '../harness/tier.ts';
import { eventually, until } from '../harness/until.ts';
import { gate, reply, startUpstream, type Upstream } from '../harness/upstream.ts';
import { readLedger } from './audit.ts';
import { createSite, isRunning, type NaruProcess, type Site, startNaru } from './naru-process.ts';

const injection = `--import=${new URL('throw-on-signal.mjs', import.meta.url).href}`;

interface Scene {
  readonly upstream: Upstream;
  readonly site: Site;
  /** The database outlives the server. */
  readonly operator: OperatorService;
  readonly naru: NaruProcess;
  readonly key: string;
}

async function start(t: TestContext, crashDrainMs: number): Promise<Scene> {
  const upstream = await startUpstream();
  const { address, drop } = await createTestDatabase();
  const database = new Database(address, 2);
  const operator = operatorOn(database);
  const site = createSite(upstream.url, {
    database: { url: urlOf(address) },
    limits: { crash_drain_timeout_ms: crashDrainMs },
    // Behind a proxy idle connections are left open while the server stops.
    edge: { rate_limit: 'external', trusted_proxies: ['127.0.0.1'] },
  });
  t.after(async () => {
    await upstream.close();
    await site.end();
    await database.close();
    await drop();
  });
  const naru = await startNaru(site, ['env', `NODE_OPTIONS=${injection}`]);
  const payer = await createPayer(operator, '1000000', 1);
  return { upstream, site, operator, naru, key: payer.keys[0]?.key ?? '' };
}

function streamed(key: string): string {
  const body = JSON.stringify({
    model: 'test/echo',
    stream: true,
    messages: [{ role: 'user', content: 'hi' }],
  });
  const head = `POST /api/v1/chat/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer ${key}\r\n`;
  return `${head}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
}

/** A stream that stops after its first word until the gate is open. */
function heldResponse(held: ReturnType<typeof gate>): ReturnType<typeof reply.stream> {
  const whole = reply.stream(['one ', 'two']);
  return whole.pauseAt(whole.bytes({ stream: true }).indexOf('two'), held);
}

const readyz = 'GET /readyz HTTP/1.1\r\nhost: x\r\n\r\n';

function isRefused(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('connect', () => socket.destroy()).on('close', (hadError) => resolve(hadError));
    socket.on('error', () => {});
  });
}

for (const signal of byTier(['SIGUSR2'] as const, ['SIGUSR2', 'SIGPWR'] as const)) {
  // security:7
  test(`an uncaught ${signal === 'SIGUSR2' ? 'exception' : 'rejection'}: requests in flight complete and are billed, new connections are rejected; CONNECTs that are reset cause none`, async (t) => {
    const { upstream, site, operator, naru, key } = await start(t, 60_000);
    await resetConnects(site, naru);
    const held = gate();
    upstream.always(heldResponse(held));
    const [client, probe] = [await RawClient.open(naru.port), await RawClient.open(naru.port)];
    t.after(() => {
      client.close();
      probe.close();
    });
    client.write(streamed(key));
    await held.reached;
    assert.equal((await probe.write(readyz).response())?.status, 200);
    naru.child.kill(signal);
    await until('new connections are refused', () => isRefused(naru.port), 10_000);
    const state = await probe.write(readyz).response();
    assert.equal(state?.status, 503);
    assert.match(state?.body ?? '', /the server is stopping/);
    held.open();
    const response = await client.response();
    assert.match(response?.body ?? '', /data: \[DONE\]/);
    assert.equal(await naru.ended, 70);
    const lines = site.log.join('').split('\n');
    const logged = lines.filter((line) => line.includes('uncaught_error'));
    assert.equal(logged.length, 1, logged.join('\n'));
    const line = JSON.parse(logged[0] ?? '');
    assert.equal(line.level, 'error');
    assert.equal(line.origin, signal === 'SIGUSR2' ? 'uncaughtException' : 'unhandledRejection');
    assert.match(line.detail, /injected …/);
    assert.doesNotMatch(lines.join('\n'), /a prompt of a person/);
    const { entries, verdict } = await readLedger(operator);
    assert.deepEqual(verdict.differences, []);
    assert.equal(entries.filter(({ kind }) => kind === 'usage').length, 1, 'the response is billed');
  });
}

// security:7
test('after an uncaught error a request that does not end is cut at the time limit', fullOnly, async (t) => {
  const { upstream, site, naru, key } = await start(t, 300);
  upstream.always(heldResponse(gate()));
  const client = await RawClient.open(naru.port);
  client.write(streamed(key));
  let text = '';
  while (!text.includes('one')) text += await client.some();
  naru.child.kill('SIGUSR2');
  await client.closed();
  text += await client.some();
  assert.match(text, /"error"/, `${text}\n${site.log.join('')}`);
  assert.equal(await naru.ended, 70);
});

/** On every port of a real server; the server must go on. */
async function resetConnects(site: Site, naru: NaruProcess): Promise<void> {
  const loggedBefore = site.log.length;
  const control = join(site.dataDir, 'control/main.sock');
  for (const address of [
    { port: naru.port, host: '127.0.0.1' },
    { port: naru.adminPort, host: '127.0.0.1' },
    { path: control },
  ]) {
    for (let n = 0; n < 5; n += 1) {
      const socket = connect({ ...address, allowHalfOpen: true });
      socket.on('error', () => {});
      socket.write('CONNECT a:1 HTTP/1.1\r\n\r\n');
      await new Promise((resolve) =>
        socket.once('data', resolve).once('end', resolve).once('close', resolve),
      );
      if ('port' in address && !socket.closed) socket.resetAndDestroy();
      else socket.destroy();
    }
  }
  assert.equal((await fetch(`${naru.url}/models`)).status, 200);
  assert.doesNotMatch(site.log.slice(loggedBefore).join(''), /uncaught_error/);
}

/** The pid of the server that has locked a data directory. */
function holderOf(dataDir: string): number | null {
  try {
    return JSON.parse(readFileSync(join(dataDir, 'naru.lock.json'), 'utf8')).pid;
  } catch {
    return null;
  }
}

for (const workers of byTier([1], [1, 2])) {
  test(`a server with ${workers} process${workers === 1 ? '' : 'es'} that crashes or is killed is restarted by its parent, and stops on SIGTERM`, async (t) => {
    const installation = createInstallation({ hasCluster: true });
    t.after(() => installation.remove());
    const args = ['up', '--port', '0', '--workers', String(workers), '--data-dir', installation.dataDir];
    const { parent } = await wrapped('wrapper', args, { NODE_OPTIONS: injection });
    const { out, err } = collectOutput(parent);
    const ended = endOf(parent);
    t.after(() => parent.kill('SIGKILL'));
    const origin = (n: number): Promise<string> =>
      eventually(`start ${n}`, 60_000, () => {
        const found = out().match(/listening on (\S+)/g) ?? [];
        if (found.length >= n) return found.at(-1)?.split(' ').at(-1) ?? null;
        if (parent.exitCode !== null) throw new Error(`ended with ${parent.exitCode}: ${err()}`);
        return null;
      });
    // A probe is answered within a second, also when the database needs longer.
    const ready = async (n: number): Promise<void> => {
      const url = `${await origin(n)}/readyz`;
      await eventually('it is ready', 30_000, async () => ((await fetch(url)).status === 200 ? true : null));
    };
    const pids = new Set<number>();
    let n = 1;
    // The exit code of a crash is in the test above; what the parent does with it, in its policy.
    const signals = byTier(['SIGKILL'] as const, ['SIGUSR2', 'SIGKILL'] as const);
    for (const signal of signals) {
      await ready(n);
      const pid = holderOf(installation.dataDir) ?? assert.fail('the data directory is not locked');
      assert.ok(!pids.has(pid));
      pids.add(pid);
      process.kill(pid, signal);
      n += 1;
    }
    await ready(n);
    for (const signal of signals) {
      const how = signal === 'SIGUSR2' ? 'exit code 70' : signal;
      assert.ok(err().includes(`the server ended unexpectedly (${how})`), err());
    }
    const last = holderOf(installation.dataDir) ?? 0;
    parent.kill('SIGTERM');
    assert.equal(await ended, 0);
    assert.ok(!isRunning(last));
  });
}

// security:7
test('a worker with an uncaught error is replaced while the others serve', fullOnly, async (t) => {
  const installation = createInstallation({ hasCluster: true });
  t.after(() => installation.remove());
  const file = installation.configure({ limits: { crash_drain_timeout_ms: 300 } });
  const args = ['up', '--port', '0', '--workers', '2', '--config', file, '--data-dir', installation.dataDir];
  const { parent } = await wrapped('wrapper', args, { NODE_OPTIONS: injection });
  const { out, err } = collectOutput(parent);
  const ended = endOf(parent);
  t.after(() => parent.kill('SIGKILL'));
  const origin = await eventually('the start', 60_000, () => /listening on (\S+)/.exec(out())?.[1] ?? null);
  const worker = (): number => holderOf(join(installation.dataDir, 'workers/1')) ?? 0;
  const first = worker();
  process.kill(first, 'SIGUSR2');
  await eventually('another worker', 30_000, async () => {
    assert.equal((await fetch(`${origin}/healthz`)).status, 200);
    return err().includes('"event":"worker_replaced"') && worker() !== first ? true : null;
  });
  assert.match(err(), /"event":"uncaught_error".*"worker":1/);
  assert.match(err(), /"event":"worker_ended".*"how":70/);
  parent.kill('SIGTERM');
  assert.equal(await ended, 0);
});
