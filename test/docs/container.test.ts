/** The container files of deploy/: they keep their promises, and the server knows what they name. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { defaultPorts } from '../../src/config/defaults.ts';
import { configOf } from '../config/load-text.ts';
import { parseCommand } from './parse-command.ts';

const deploy = join(import.meta.dirname, '../../deploy');
const read = (name: string): string => readFileSync(join(deploy, name), 'utf8');
const databaseUrl = 'postgres://naru:secret@postgres/naru?sslmode=disable';
const { limits } = configOf('{}');

/** The instructions of the stage that becomes the image, by name. */
const stage = ((): ReadonlyMap<string, readonly string[]> => {
  const text = read('Dockerfile')
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/ *\\\n */g, ' ');
  const last = text.slice(text.lastIndexOf('\nFROM ') + 1);
  const found = new Map<string, string[]>();
  for (const [, name = '', rest = ''] of last.matchAll(/^([A-Z]+) (.*)$/gm))
    found.set(name, [...(found.get(name) ?? []), rest]);
  return found;
})();
const only = (name: string): string => {
  const values = stage.get(name) ?? [];
  assert.equal(values.length, 1, `${name} once`);
  return values[0] ?? '';
};

// biome-ignore lint/suspicious/noExplicitAny: a service is whatever stands in its file.
type Service = any;
const services: Readonly<Record<string, Service>> = parse(read('compose.yaml'), { merge: true }).services;
const naruServices = Object.entries(services).filter(([, { image }]) => image.startsWith('naru:'));

const secondsOf = (text: string): number =>
  Number(/^(\d+)s$/.exec(text)?.[1] ?? assert.fail(`${text} is no duration`));

async function assertParses(command: readonly string[]): Promise<void> {
  const { code, output } = await parseCommand([...command, '--help']);
  assert.equal(code, 0, `${command.join(' ')}\n${output}`);
  const unknown = await parseCommand([...command, '--no-such-option']);
  assert.equal(unknown.code, 2);
}

test('the image runs without root, with one volume, and stops and checks itself as the server does', async () => {
  assert.match(only('USER'), /^[1-9]\d*:[1-9]\d*$/);
  const [uid] = only('USER').split(':');
  assert.match(only('RUN'), new RegExp(`useradd --uid ${uid} .*--home-dir ${only('VOLUME')} `));
  assert.equal(only('STOPSIGNAL'), 'SIGTERM');
  assert.equal(only('EXPOSE'), String(defaultPorts.listen));
  assert.match(
    only('HEALTHCHECK'),
    new RegExp(`/dev/tcp/127\\.0\\.0\\.1/${defaultPorts.listen} .*GET /readyz `),
  );
  const [entry = '', ...others]: readonly string[] = JSON.parse(only('ENTRYPOINT'));
  assert.deepEqual([entry, others], ['/opt/naru/bin/naru', []]);
  assert.ok(existsSync(join(deploy, '../bin/naru')));
  const command: readonly string[] = JSON.parse(only('CMD'));
  await assertParses(command);
  assert.match(only('ENV'), new RegExp(`\\bNARU_DATA_DIR=${only('VOLUME')}$`));
  assert.match(only('ADD'), /^naru-\*-linux-\*\.tar\.gz \/opt\/$/);
  assert.ok(!stage.has('COPY'));
  assert.doesNotMatch(only('RUN'), /apt|npm|curl/);
});

test('every Naru of compose.yaml has a read-only root, no capability, its drain time and the volume', async () => {
  assert.deepEqual(
    naruServices.map(([name]) => name),
    ['single', 'naru'],
  );
  for (const [name, service] of naruServices) {
    assert.deepEqual(
      [service.read_only, service.init, service.cap_drop, service.security_opt, service.tmpfs],
      [true, true, ['ALL'], ['no-new-privileges:true'], ['/tmp']],
      name,
    );
    assert.ok(secondsOf(service.stop_grace_period) * 1000 > limits.drainTimeoutMs, name);
    const writable = service.volumes.filter((one: string) => !one.endsWith(':ro'));
    assert.deepEqual(
      writable.map((one: string) => one.split(':')[1]),
      [only('VOLUME')],
    );
    assert.equal(service.build.context, '../release');
    assert.ok(existsSync(join(deploy, service.build.context, service.build.dockerfile)));
    if (service.command !== undefined) await assertParses(service.command);
  }
  for (const [name, { image, profiles }] of Object.entries(services)) {
    assert.match(image, /:\d/, name);
    assert.deepEqual(profiles, [name === 'single' ? 'single' : 'full'], name);
  }
});

test('behind nginx, Naru listens on the loopback that they share and believes nginx alone', () => {
  const { naru, nginx, postgres } = services;
  const url: string = naru.environment.NARU_DATABASE_URL;
  assert.equal(url.replace(/\$\{POSTGRES_PASSWORD-\}/, 'secret'), databaseUrl);
  const config = configOf(read('compose-naru.yaml'), { env: { NARU_DATABASE_URL: databaseUrl } });
  assert.deepEqual(config.listen, { host: '127.0.0.1', port: defaultPorts.listen });
  assert.deepEqual([config.edge.rateLimit, config.edge.trustedProxies], ['external', ['127.0.0.1']]);
  assert.equal(nginx.network_mode, 'service:naru');
  // A server that does not run would cost every second request an attempt to connect, and a line of the log.
  const servers = [...read('nginx.conf').matchAll(/^ *server (\S+) max_fails=0;$/gm)].map(([, at]) => at);
  assert.deepEqual(servers, [`127.0.0.1:${defaultPorts.listen}`]);
  // The image has links to stdout and stderr in /var/log/nginx; a tmpfs would hide them and grow.
  assert.deepEqual(nginx.tmpfs, ['/run', '/tmp', '/var/lib/nginx']);
  const [, inside] = naru.ports[0].split(':');
  assert.match(read('nginx.conf'), new RegExp(`listen ${inside} `));
  assert.deepEqual(nginx.volumes, ['./nginx.conf:/etc/nginx/nginx.conf:ro']);
  assert.ok(secondsOf(postgres.stop_grace_period) > secondsOf(naru.stop_grace_period));
});
