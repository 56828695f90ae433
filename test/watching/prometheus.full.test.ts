/**
 * Debian's Prometheus reads a real server and evaluates deploy/prometheus: what only Prometheus sees
 * of a server, and what only the process itself shows. Rules fire at once here instead of after their
 * `for`.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { collectOutput, createInstallationOn, type Installation } from '../cli/naru.ts';
import { createTestDatabase } from '../harness/database.ts';
import { freePort } from '../harness/free-port.ts';
import { program as naru } from '../harness/program.ts';
import { eventually } from '../harness/until.ts';
import { ruleFile } from './promtool.ts';

const program = '/usr/bin/prometheus';

/** Prometheus with the files of deploy/ for one address; returns the names of the alerts that fire. */
async function startPrometheus(
  t: TestContext,
  target: string | null,
): Promise<() => Promise<readonly string[]>> {
  assert.ok(existsSync(program), 'Prometheus is missing: apt-get install prometheus');
  const folder = mkdtempSync(join(tmpdir(), 'naru-prometheus-'));
  const rules = readFileSync(ruleFile, 'utf8').replaceAll(/^( +for): .*$/gm, '$1: 0s');
  writeFileSync(join(folder, 'naru.rules.yml'), rules);
  const config = readFileSync(join(dirname(ruleFile), 'prometheus.yml'), 'utf8')
    .replaceAll('interval: 15s', 'interval: 1s')
    .replace('["127.0.0.1:8788"]', target === null ? '[]' : `["${target}"]`);
  writeFileSync(join(folder, 'prometheus.yml'), config);
  const port = await freePort();
  const child = spawn(
    program,
    [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: 'ignore' },
  );
  const ended = once(child, 'exit');
  t.after(async () => {
    child.kill('SIGKILL');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  });
  return async () => {
    const seen = await fetch(`http://127.0.0.1:${port}/api/v1/query?query=up`).catch(() => null);
    // Nothing is known before the first reading.
    if (target !== null && !(await seen?.text())?.includes('"job":"naru"')) return ['nothing'];
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/alerts`).catch(() => null);
    if (response?.status !== 200) return [];
    const { data } = (await response.json()) as { readonly data: { readonly alerts: readonly Alert[] } };
    return data.alerts.filter(({ state }) => state === 'firing').map(({ labels }) => labels.alertname);
  };
}

interface Alert {
  readonly labels: { readonly alertname: string };
  readonly state: string;
}

/** The machine may be busy. */
const ofNew = ['NaruEventLoopBusy'];

const maxDescriptors = 200;

/** `naru up` with a low `ulimit -n`: its own start would raise a soft limit. */
async function startWithFewDescriptors(installation: Installation): Promise<ChildProcess> {
  const limited = ['-c', `ulimit -n ${maxDescriptors} && exec "$@"`, 'sh', process.execPath, naru()];
  const config = join(installation.folder, 'naru.yaml');
  const args = ['up', '--port', '0', '--data-dir', installation.dataDir, '--config', config];
  const child = spawn('sh', [...limited, ...args], { stdio: ['ignore', 'pipe', 'ignore'] });
  const { out } = collectOutput(child);
  await eventually('it listens', 30_000, () => (/listening/.test(out()) ? true : null));
  return child;
}

async function untilFires(read: () => Promise<readonly string[]>, alert: string): Promise<void> {
  await eventually(`${alert} fires`, 60_000, async () => ((await read()).includes(alert) ? true : null));
}

test('a server that ends, restarts and has few file descriptors raises alerts; a healthy one does not', async (t) => {
  const { address, drop } = await createTestDatabase();
  t.after(drop);
  const adminPort = await freePort();
  const installation = createInstallationOn(address, { admin: { port: adminPort }, models: [] });
  t.after(() => installation.remove());
  let child = await startWithFewDescriptors(installation);
  t.after(() => child.kill('SIGKILL'));
  const alerts = await startPrometheus(t, `127.0.0.1:${adminPort}`);
  await eventually('it is quiet', 60_000, async () =>
    (await alerts()).every((name) => ofNew.includes(name)) ? true : null,
  );

  // More than one client may open.
  const free = maxDescriptors - readdirSync(`/proc/${child.pid}/fd`).length;
  const sockets = Array.from({ length: Math.floor(free * 0.9) }, (_, n) =>
    connect({ port: adminPort, host: '127.0.0.1', localAddress: `127.0.0.${2 + (n % 20)}` }),
  );
  for (const socket of sockets) socket.on('error', () => {});
  await untilFires(alerts, 'NaruDescriptorsLow');
  for (const socket of sockets) socket.destroy();

  for (let n = 0; n < 3; n += 1) {
    child.kill('SIGKILL');
    await untilFires(alerts, 'NaruDown');
    child = await startWithFewDescriptors(installation);
    await eventually('Prometheus sees it', 30_000, async () =>
      (await alerts()).includes('NaruDown') ? null : true,
    );
  }
  await untilFires(alerts, 'NaruRestarting');
});

test('a Prometheus without a target raises an alert', async (t) => {
  await untilFires(await startPrometheus(t, null), 'NaruNotScraped');
});
