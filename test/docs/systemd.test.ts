/** The systemd unit of deploy/, and `naru install-service`, which adapts it to an installation. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { naru, root } from '../cli/naru.ts';

/** In the tenths that `systemd-analyze` reads: 2.0. */
const maxScore = 20;
let folder: string;
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'naru-unit-'));
});
after(() => rmSync(folder, { recursive: true, force: true }));

/** Runs systemd-analyze; throws with its output when it reports a fault. */
function analyze(...args: readonly string[]): string {
  const binary = ['/usr/bin/systemd-analyze', '/bin/systemd-analyze'].find(existsSync);
  if (binary === undefined)
    throw new Error('systemd-analyze is missing, and the unit cannot be checked: apt-get install systemd');
  try {
    return execFileSync(binary, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  } catch (error) {
    const { stdout, stderr } = error as { readonly stdout?: string; readonly stderr?: string };
    throw new Error(`systemd-analyze ${args.join(' ')}\n${stdout ?? ''}${stderr ?? ''}`);
  }
}

test('systemd repeats a failed start without a limit, since the parent repeats no first one', () => {
  const unit = readFileSync(join(root, 'deploy/naru.service'), 'utf8');
  assert.match(unit, /\nStartLimitIntervalSec=0\n/);
  assert.match(unit, /\nRestart=on-failure\nRestartSec=10\n/);
  assert.doesNotMatch(unit, /StartLimitBurst/);
});

const exposes = (file: string): string =>
  analyze('security', '--offline=true', '--no-pager', `--threshold=${maxScore}`, file);

test('systemd-analyze rates the exposure of the unit at 2.0 or less, and can rate it higher', () => {
  const unit = join(root, 'deploy/naru.service');
  assert.match(exposes(unit), /level for naru\.service: [01]\.\d/);
  const open = join(folder, 'open.service');
  writeFileSync(open, '[Service]\nExecStart=/bin/true\n');
  assert.throws(() => exposes(open), /level for open/);
});

test('install-service prints a unit for its place and writes it only when asked to', async () => {
  const to = join(folder, 'naru.service');
  const place = ['--config', join(folder, 'naru.yaml'), '--data-dir', '/srv/naru', '--user', 'gateway'];
  const shown = await naru('install-service', '--to', to, ...place);
  assert.equal(shown.code, 0, shown.err);
  const socketFile = join(folder, 'naru.socket');
  assert.deepEqual([existsSync(to), existsSync(socketFile)], [false, false]);
  assert.match(shown.out, /\n# not written; pass --write to write them to /);
  const written = await naru('install-service', '--to', to, '--write', ...place);
  assert.equal(written.code, 0, written.err);
  const unit = readFileSync(to, 'utf8');
  const socket = readFileSync(socketFile, 'utf8');
  assert.ok(shown.out.startsWith(`${unit}\n${socket}`));
  assert.match(socket, /\nListenStream=127\.0\.0\.1:8787\n/);
  assert.ok(
    unit.includes(`\nExecStart=${root}/bin/naru up --config ${folder}/naru.yaml --data-dir /srv/naru\n`),
    unit,
  );
  assert.match(unit, /\nUser=gateway\n/);
  assert.match(unit, /\nReadWritePaths=\/srv\/naru\n/);
  assert.doesNotMatch(unit, /StateDirectory|\/opt\/naru|\/var\/lib\/naru --/);
  assert.equal(analyze('verify', to, socketFile), '');
  exposes(to);
});

test('install-service writes a socket of the same name at the address it is told', async () => {
  const to = join(folder, 'gateway.service');
  const done = await naru('install-service', '--to', to, '--listen', '[::]:80', '--write');
  assert.equal(done.code, 0, done.err);
  assert.match(done.out, /systemctl enable --now gateway\.socket gateway\.service\n/);
  const socketFile = join(folder, 'gateway.socket');
  assert.match(readFileSync(socketFile, 'utf8'), /\nListenStream=\[::\]:80\n/);
  assert.match(readFileSync(to, 'utf8'), /\nWants=network-online\.target gateway\.socket\n/);
  for (const listen of ['8787', 'localhost:80', '127.0.0.1:0', '127.0.0.1:65536', '[::1', '1.2.3.4:8\n'])
    assert.equal((await naru('install-service', '--listen', listen)).code, 2, listen);
  assert.equal((await naru('install-service', '--to', join(folder, 'unit'))).code, 1);
});

test('the unit may write backups where the configuration puts them, unless that is in its data', async () => {
  const config = join(folder, 'backups.yaml');
  const backups = join(folder, 'backups');
  const unitFor = async (directory: string): Promise<string> => {
    writeFileSync(config, JSON.stringify({ backup: { directory } }));
    const shown = await naru('install-service', '--config', config, '--data-dir', '/srv/naru');
    assert.equal(shown.code, 0, shown.err);
    return shown.out;
  };
  // A folder that is away must not keep Naru from starting.
  assert.match(
    await unitFor(backups),
    new RegExp(`\nReadWritePaths=/srv/naru\nReadWritePaths=-${backups}\n`),
  );
  assert.match(await unitFor('./backups'), new RegExp(`\nReadWritePaths=-${backups}\n`));
  assert.match(await unitFor('/home/naru/backups'), /\nProtectHome=read-only\n/);
  assert.doesNotMatch(await unitFor('/srv/naru/backups'), /\nReadWritePaths=-/);
  const odd = await naru('install-service', '--config', config, '--data-dir', '/srv');
  assert.doesNotMatch(odd.out, /\nReadWritePaths=-/);
});

test('install-service names what the unit needs and this machine lacks', async () => {
  const config = join(folder, 'absent.yaml');
  const place = [
    '--to',
    join(folder, 'needs.service'),
    '--config',
    config,
    '--data-dir',
    join(folder, 'data'),
  ];
  const shown = await naru('install-service', '--user', 'naru-absent', ...place);
  assert.ok(
    shown.out.endsWith(`
# missing: the user naru-absent; run: useradd --system naru-absent
# missing: ${config}; docs/quick-start.md states how to create it
# missing: ${folder}/data; run: install -d -o naru-absent -m 0700 ${folder}/data
`),
    shown.out,
  );
  writeFileSync(config, JSON.stringify({ backup: { directory: './kept' } }));
  const json = await naru('install-service', '--user', 'root', ...place, '--json');
  const missing = ['data', 'kept'].map(
    (name) => `${folder}/${name}; run: install -d -o root -m 0700 ${folder}/${name}`,
  );
  assert.deepEqual(json.rows[0].missing, missing);
  writeFileSync(config, 'modles: []\n');
  const faulty = await naru('install-service', '--user', 'root', ...place);
  assert.match(
    faulty.out,
    /# missing: a configuration without faults; run: .*\/bin\/naru config check --config /,
  );
  assert.equal(faulty.code, 0);
});

test('install-service keeps a file that somebody changed, and rejects a path that systemd would read otherwise', async () => {
  const to = join(folder, 'changed.service');
  writeFileSync(to, '# mine\n');
  const kept = await naru('install-service', '--to', to, '--write');
  assert.equal(kept.code, 1);
  assert.match(kept.err, /exists and differs: compare it, then pass --replace/);
  assert.equal(readFileSync(to, 'utf8'), '# mine\n');
  assert.equal((await naru('install-service', '--to', to, '--write', '--replace')).code, 0);
  assert.match(readFileSync(to, 'utf8'), /\nStateDirectory=naru\n/);
  const odd = await naru('install-service', '--data-dir', '/srv/%h naru');
  assert.equal(odd.code, 1);
  assert.match(odd.err, /a unit cannot name the path/);
  assert.equal((await naru('install-service', '--user', 'x\nRoot=')).code, 2);
});
