import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configOf, faultsOf } from './load-text.ts';

test('a YAML syntax error is reported with its position', () => {
  assert.deepEqual(faultsOf('listen:\n\tport: 1'), [
    'naru.yaml:2:1 YAML does not allow tabs for indentation: use spaces',
  ]);
  assert.match(faultsOf('listen: { port: 1')[0] ?? '', /^naru\.yaml:1:18 not YAML: /);
  assert.match(faultsOf('listen:\n  port: 1\n host: a')[0] ?? '', /^naru\.yaml:3:\d+ not YAML: /);
  assert.deepEqual(faultsOf('log: {}\n---\nlog: {}'), [
    'naru.yaml:2:1 a configuration is one YAML document: remove the second ---',
  ]);
  assert.deepEqual(faultsOf('log: { level: !secret x }'), ['naru.yaml:1:15 tags (!name) are not supported']);
  assert.deepEqual(faultsOf('log: *nothing'), [
    'naru.yaml:1:6 log: is an unknown alias: no anchor before it has that name',
  ]);
});

test('a file of another kind is a fault', () => {
  assert.deepEqual(faultsOf('- a'), ['naru.yaml:1:1 must be a mapping of members, not a list']);
  assert.deepEqual(faultsOf('hello'), ['naru.yaml:1:1 must be a mapping of members, not a single value']);
  assert.deepEqual(faultsOf('listen: 8787\nmodels: { a: b }\nlog: { level: [info] }\nslots:\n  -\n'), [
    'naru.yaml:1:9 listen: must be a mapping of members, not a single value',
    'naru.yaml:2:9 models: must be a list, not a mapping',
    'naru.yaml:3:15 log.level: must be one of debug, info, warn, error',
    'naru.yaml:5:4 slots[0]: is empty',
    'naru.yaml:5:4 slots[0]: needs one of command, external and k8s',
  ]);
});

test('a duplicate member is a fault at the second', () => {
  assert.deepEqual(faultsOf('log: { level: info }\nlog: { level: warn }\nlimits:\n  burst: 1\n  burst: 2'), [
    'naru.yaml:2:1 log: stands here twice, first on line 1',
    'naru.yaml:5:3 limits.burst: stands here twice, first on line 4',
  ]);
});

test('an anchor may be reused; its members are checked like any others', () => {
  const text = `
slots: [{ name: s, command: ["{port}"] }, { name: t, command: ["{port}"] }]
models:
  - { id: a/b, context_length: 1, price: &cheap { prompt: 1, completion: 2, per: token, confirm: true }, candidates: [{ slot: s }] }
  - { id: a/c, context_length: 1, price: *cheap, candidates: [{ slot: t }] }`;
  assert.deepEqual(
    configOf(text).models[1]?.candidates[0]?.price,
    configOf(text).models[0]?.candidates[0]?.price,
  );
  assert.equal(configOf(text).models[1]?.candidates[0]?.price.completion, 2n * 10n ** 12n);
});

// security:56
test('aliases that multiply are bounded', () => {
  const rows = ['a0: &a0 [x, x, x, x, x, x, x, x, x]'];
  for (let i = 1; i < 12; i++)
    rows.push(
      `a${i}: &a${i} [${Array(9)
        .fill(`*a${i - 1}`)
        .join(', ')}]`,
    );
  assert.match(faultsOf(rows.join('\n')).join(), /uses aliases \(\*name\) more than 100 times/);
  assert.equal(faultsOf(rows.join('\n')).length, 1);
});

// security:56
test('an anchor inside itself, and any other excess depth, is rejected', () => {
  assert.match(faultsOf('log: &a { level: *a }').join(), /nested too deeply|not YAML/);
  assert.ok(
    faultsOf('log: '.concat('['.repeat(60), ']'.repeat(60))).some((fault) => fault.includes('too deeply')),
  );
  assert.match(
    faultsOf(`log: ${'['.repeat(20_000)}`).join(),
    /^naru\.yaml:1:\d+ the file is nested too deeply$/,
  );
  assert.match(faultsOf(`log: ${'{a: '.repeat(20_000)}1${'}'.repeat(20_000)}`).join(), /nested too deeply$/);
});

test('a file above 1 MiB is a fault', () => {
  assert.deepEqual(faultsOf(`# ${'한'.repeat(349_525)}`), ['naru.yaml:1:1 the file is above 1 MiB']);
  assert.deepEqual(faultsOf(`# ${'한'.repeat(349_524)}`), []);
});

// security:56
test('names that objects inherit are ordinary members', () => {
  for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'prototype']) {
    const faults = faultsOf(
      `${name}: { polluted: true }\nlisten: { ${name}: 1 }\nlimits:\n  ${name}: { burst: 1 }`,
    );
    assert.equal(faults.length, 3, name);
    for (const fault of faults) assert.match(fault, /unknown member/);
  }
  assert.equal(({} as { polluted?: unknown }).polluted, undefined);
  const text = 'slots: [{ name: s, command: ["{port}"], env: { constructor: a, toString: b } }]';
  const driver = configOf(text).slots[0]?.driver;
  assert.deepEqual(driver?.kind === 'process' && { ...driver.env }, { constructor: 'a', toString: 'b' });
  assert.match(faultsOf(text.replace('constructor', '__proto__')).join(), /unknown member "__proto__"/);
  assert.match(
    faultsOf('slots: [{ name: s, <<: { command: [a] } }]').join(),
    /slots\[0\]\["<<"\]: unknown member/,
  );
  assert.match(faultsOf('? [a]\n: 1').join(), /1:3 a member's name must be a word/);
});

test('line endings and a byte order mark do not shift positions', () => {
  const text = 'log: { level: loud }\nlimits:\n  burst: no\n';
  const faults = [
    'naru.yaml:1:15 log.level: must be one of debug, info, warn, error, not "loud"',
    'naru.yaml:3:10 limits.burst: must be a whole number from 1 to 1000000, not "no"',
  ];
  assert.deepEqual(faultsOf(text), faults);
  assert.deepEqual(faultsOf(text.replaceAll('\n', '\r\n')), faults);
  assert.deepEqual(faultsOf(`\uFEFF${text}`), faults);
  assert.deepEqual(faultsOf(`\uFEFF${text.replaceAll('\n', '\r\n')}`), faults);
});

test('columns count characters, in Korean as in English', () => {
  assert.deepEqual(
    faultsOf('providers: [{ name: 나루터, slug: 한글, dialect: openai, base_url: "http://h" }]'),
    [
      'naru.yaml:1:32 providers[0].slug: must be lower-case letters, digits, dots, dashes and underscores, with one slash at most, not "한글"',
    ],
  );
  assert.deepEqual(faultsOf('"설정": 1'), ['naru.yaml:1:1 ["설정"]: unknown member']);
  const text =
    'models:\n- id: 나루/작은모델\n  name: "나루: 작은 모델"\n  context_length: 1\n  price: { prompt: 1, completion: 1, per: token }';
  const slots = '\n  candidates: [{ slot: s }]\nslots: [{ name: s, command: ["{port}"] }]';
  assert.equal(configOf(text + slots).models[0]?.name, '나루: 작은 모델');
});

test('numbers and booleans have one plain notation', () => {
  for (const port of ['0x10', '0o7', '1e3', '8787.0', '1_000', '""', '-1', '٣']) {
    assert.equal(faultsOf(`listen: { port: ${port} }`).length, 1, port);
  }
  for (const flag of ['yes', 'True', 'on', '1']) {
    assert.match(faultsOf(`datasets: { samples: ${flag} }`).join(), /must be true or false/, flag);
  }
});
