import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configOf, faultsOf } from './load-text.ts';

/** `${NAME}`, which a JavaScript template would interpolate. */
const taken = (name: string): string => `$\{${name}}`;

test('a variable is the complete value, a part of it, or several parts', () => {
  const text = `
listen: { host: ${taken('HOST')}, port: ${taken('PORT')} }
datasets: { samples: ${taken('SAMPLES')}, base_url: "https://${taken('HOST')}:${taken('PORT')}/v1" }`;
  const config = configOf(text, { env: { HOST: 'naru.example', PORT: '9000', SAMPLES: 'false' } });
  assert.deepEqual(config.listen, { host: 'naru.example', port: 9000 });
  assert.deepEqual(config.datasets, {
    syncKey: null,
    samples: false,
    baseUrl: 'https://naru.example:9000/v1',
  });
});

test('a substituted value is a string, whatever it looks like', () => {
  const env = { KEY: '0123', NAME: '{ a: [*x, !!tag ] } # no comment' };
  const text = `providers: [{ slug: p, name: "${taken('NAME')}", dialect: openai, base_url: "http://h", api_key: "${taken('KEY')}" }]`;
  const [provider] = configOf(text, { env }).providers;
  assert.equal(provider?.name, env.NAME);
  assert.equal(provider?.apiKey?.reveal(), '0123');
});

// security:56
test('a substituted value is not substituted again', () => {
  const env = { NAME: taken('OTHER'), OTHER: 'no' };
  const text = `slots: [{ name: s, command: [e, "{port}", "${taken('NAME')}", "$${taken('OTHER')}", "$x {y} $"] }]`;
  const driver = configOf(text, { env }).slots[0]?.driver;
  assert.deepEqual(driver?.kind === 'process' && driver.command.slice(2), [
    taken('OTHER'),
    taken('OTHER'),
    '$x {y} $',
  ]);
});

test('an unset variable is a fault at its line, and its value has no other fault', () => {
  const text = `listen:\n  port: ${taken('NARU_PORT')}\ndatabase:\n  url: postgres://u:${taken('PW')}@h/${taken('DB')}`;
  assert.deepEqual(faultsOf(text, { env: { PW: 'x' } }), [
    'naru.yaml:2:9 listen.port: the environment variable NARU_PORT is not set',
    'naru.yaml:4:8 database.url: the environment variable DB is not set',
  ]);
});

test('names that objects inherit are not variables', () => {
  assert.match(faultsOf(`log: { level: "${taken('constructor')}" }`).join(), /constructor is not set/);
  assert.match(faultsOf(`log: { level: "${taken('__proto__')}" }`).join(), /__proto__ is not set/);
});

test('a misspelt variable is a fault', () => {
  for (const text of [taken(''), taken('A-B'), taken('A:-b'), '${A', taken('1A')]) {
    const faults = faultsOf(`log: { level: "${text}" }`, { env: { A: 'info' } });
    assert.equal(faults.length, 1, text);
    assert.match(faults[0] ?? '', /1:15 log\.level: a variable is written/);
  }
});

test('a file is read relative to the configuration and trimmed', () => {
  const files = { '/etc/naru/secrets/key': ' sk-1\n', '/run/k': 'sk-2\r\n', '/etc/naru/port': '9000\n' };
  const provider = 'dialect: openai, base_url: "http://h"';
  const text = `
listen: { port: "file:port" }
providers:
  - { slug: a, ${provider}, api_key: file:secrets/key }
  - { slug: b, ${provider}, api_key: "file:${taken('RUN')}/k" }`;
  const config = configOf(text, { files, env: { RUN: '/run' } });
  assert.equal(config.listen.port, 9000);
  assert.deepEqual(
    config.providers.map((p) => p.apiKey?.reveal()),
    ['sk-1', 'sk-2'],
  );
});

// security:56
test('variables inside a substituted file are not expanded', () => {
  const files = { '/etc/naru/key': taken('HOME') };
  const config = configOf('datasets: { sync_key: "file:key" }', { files, env: { HOME: '/root' } });
  assert.equal(config.datasets.syncKey?.reveal(), taken('HOME'));
});

test('a file that cannot be read is a fault with its path and the reason', () => {
  assert.deepEqual(faultsOf('datasets:\n  sync_key: file:none'), [
    'naru.yaml:2:13 datasets.sync_key: the file /etc/naru/none cannot be read (ENOENT)',
  ]);
  assert.match(faultsOf('datasets: { sync_key: "file:" }').join(), /file: must be followed by a path/);
  const files = { '/etc/naru/big': 'x'.repeat(65_537) };
  assert.match(faultsOf('datasets: { sync_key: "file:big" }', { files }).join(), /larger than 64 KiB/);
});

test('an empty sync key counts as unset; an empty provider key is a fault', () => {
  const env = { KEY: '' };
  assert.equal(configOf(`datasets: { sync_key: "${taken('KEY')}" }`, { env }).datasets.syncKey, null);
  const text = `providers: [{ slug: p, dialect: openai, base_url: "http://h", api_key: "${taken('KEY')}" }]`;
  assert.match(faultsOf(text, { env }).join(), /providers\[0\]\.api_key: is empty/);
});

test('a variable needs no quotes, in blocks and inside braces', () => {
  const env = { HOST: 'h.example', PORT: '9000' };
  const config = configOf(
    `listen: { host: ${taken('HOST')}, port: ${taken('PORT')} }\nadmin:\n  port: ${taken('PORT')}1`,
    {
      env: { ...env, PORT: '900' },
    },
  );
  assert.deepEqual([config.listen.port, config.admin.port], [900, 9001]);
  assert.deepEqual(faultsOf(`listen: { host: ${taken('HOST')}, prot: 1 }`, { env }), [
    'naru.yaml:1:26 listen.prot: unknown member (did you mean "port"?)',
  ]);
});
