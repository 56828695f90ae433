/** The configuration in the console: what is in effect, what the file would change, and reloading it. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { describeConfig } from '../../src/config/describe-config.ts';
import { createInstallation } from '../cli/naru.ts';
import { echoConfig } from '../harness/echo-config.ts';

const noFiles = (): string => {
  throw new Error('no files');
};

test('every value has its origin, and nothing secret or from outside is shown', () => {
  const text = `
listen: { port: 8123 }
database: { url: "postgresql://user:pa55@db.example/naru" }
keys: { prefix: "\${PREFIX}" }
providers:
  - { slug: up, name: Up, dialect: openai, base_url: "https://up.example/v1", api_key: s3cret, headers: { x-team: hidden } }
`;
  const described = describeConfig({
    text,
    path: '/x/naru.yaml',
    env: { PREFIX: 'sk-private-' },
    readFile: noFiles,
  });
  assert.ok(described.ok, JSON.stringify(described));
  const of = (path: string) => {
    const found = described.values.find((value) => value.path === path);
    return [found?.shown, found?.origin];
  };
  assert.deepEqual(of('listen.port'), ['8123', 'file']);
  assert.deepEqual(of('limits.debt_floor_krw'), ['5000', 'default']);
  assert.deepEqual(of('listen.host'), ['127.0.0.1', 'default']);
  assert.deepEqual(of('database.url'), ['***', 'file']);
  assert.deepEqual(of('keys.prefix'), ['***', 'outside']);
  assert.deepEqual(of('providers[0].api_key'), ['***', 'file']);
  assert.deepEqual(of('providers[0].base_url'), ['https://up.example/v1', 'file']);
  const shown = JSON.stringify(described.values.map((value) => value.shown));
  assert.doesNotMatch(shown, /pa55|s3cret|sk-private|hidden/);
});

// pages:A13
test('an admin sees what the file changes, reloads it, and a file with faults changes nothing', async (t) => {
  const installation = createInstallation();
  const tree = (level: string) => ({ ...echoConfig('http://127.0.0.1:9'), log: { level } });
  const file = installation.configure(tree('info'));
  const serving = await installation.up('--json', '--config', file);
  t.after(async () => {
    await serving.stop();
    installation.remove();
  });
  const [{ url }] = (await installation.json('console')).rows;
  const { origin } = new URL(url);
  const signedIn = await fetch(`${origin}/console/api/sign-in/link`, {
    method: 'POST',
    headers: { origin, 'content-type': 'application/json' },
    body: JSON.stringify({ token: url.split('#')[1] }),
  });
  const [cookie = ''] = signedIn.headers.getSetCookie();
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into bodies as a client would.
  const read = async (path: string): Promise<any> =>
    (await fetch(`${origin}/console/api${path}`, { headers: { cookie } })).json();
  const reload = async () => {
    const response = await fetch(`${origin}/console/api/configuration/reload`, {
      method: 'POST',
      headers: { cookie, origin, 'content-type': 'application/json', 'idempotency-key': randomUUID() },
      body: JSON.stringify({ reason: 'test' }),
    });
    return ((await response.json()) as { error: string | null }).error;
  };
  const limits = { limits: { burst: 77 } };
  assert.deepEqual((await read('/configuration')).differences, []);
  installation.configure({ ...tree('info'), ...limits });
  const changed = await read('/configuration');
  assert.equal(changed.file, file);
  assert.equal(changed.differences.length, 1);
  assert.deepEqual([changed.differences[0].path, changed.differences[0].on_disk], ['limits.burst', '77']);
  assert.equal(await reload(), null);
  const reloaded = await read('/configuration');
  assert.deepEqual([reloaded.differences, reloaded.last_reload.error], [[], null]);
  const originOf = (name: string) => {
    const found = reloaded.values.find(({ path }: { path: string }) => path === name);
    return [found.value, found.origin];
  };
  assert.deepEqual(originOf('listen.port'), ['0', 'command_line']);
  assert.deepEqual(originOf('listen.host'), ['127.0.0.1', 'default']);
  assert.deepEqual(originOf('--config'), [file, 'command_line']);
  assert.deepEqual(originOf('--data-dir'), [installation.dataDir, 'command_line']);
  assert.deepEqual(originOf('--workers'), ['1', 'command_line']);
  const burst = reloaded.values.find(({ path }: { path: string }) => path === 'limits.burst');
  assert.deepEqual([burst.value, burst.origin], ['77', 'file']);

  installation.configure({ ...tree('info'), limits: { burst: 'many' } });
  assert.match((await read('/configuration')).faults[0], /limits\.burst/);
  assert.match((await reload()) ?? '', /limits\.burst/);
  const kept = await read('/configuration');
  assert.equal(kept.values.find(({ path }: { path: string }) => path === 'limits.burst').value, '77');
  const { items } = await read('/audit?act=config.reload');
  assert.equal(items.length, 2);
  assert.deepEqual(items[1].before, { differences: ['limits.burst'] });
});
