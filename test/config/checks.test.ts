import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configOf, faultsOf } from './load-text.ts';

const provider = 'dialect: openai, base_url: "https://h/v1"';
const price = 'price: { prompt: 1, completion: 1, per: token }';

/** A text with one provider, one slot, and one model with these members. */
function withModel(members: string): string {
  return `providers: [{ slug: p, ${provider} }]
slots: [{ name: s, command: [e, "{port}"] }]
models: [{ id: a/b, context_length: 100, ${members} }]`;
}

/** The text has one fault with this message. */
function hasFault(text: string, fault: string): void {
  assert.deepEqual(faultsOf(text), [`naru.yaml:${fault}`]);
}

test('a duplicate name is a fault that names the first', () => {
  hasFault(
    `providers:\n  - { slug: p, ${provider} }\n  - { slug: p, ${provider} }`,
    '3:13 providers[1].slug: providers[0] on line 2 has the same slug',
  );
  hasFault(
    'slots:\n- { name: s, command: ["{port}"] }\n- { name: s, command: ["{port}"] }',
    '3:11 slots[1].name: slots[0] on line 2 has the same name',
  );
  const model = `{ id: a/b, context_length: 1, ${price}, candidates: [{ slot: s }] }`;
  hasFault(
    `slots: [{ name: s, command: ["{port}"] }]\nmodels:\n- ${model}\n- ${model}`,
    '4:9 models[1].id: models[0] on line 3 has the same id',
  );
});

test('a provider cannot have the name of the slots', () => {
  hasFault(
    `providers: [{ slug: naru, ${provider} }]`,
    '1:21 providers[0].slug: the slug "naru" belongs to the slots: use another name',
  );
});

test('a candidate names one existing target', () => {
  hasFault(
    withModel(`${price}, candidates: [{ slot: s, provider: p }]`),
    '3:104 models[0].candidates[0]: needs only one of slot and provider',
  );
  hasFault(
    withModel(`${price}, candidates: [{ slot: t }]`),
    '3:112 models[0].candidates[0].slot: no slot is called "t" (did you mean "s"?)',
  );
  hasFault(
    `models: [{ id: a/b, context_length: 1, ${price}, candidates: [{ slot: local }] }]`,
    '1:110 models[0].candidates[0].slot: no slot is called "local": the file has no slots',
  );
  hasFault(
    withModel(`${price}, candidates: [{ slot: s, model: m }]`),
    "3:115 models[0].candidates[0].model: has no effect with slot: the slot's own model is used",
  );
});

test('a candidate occurs once in a model', () => {
  const twin = withModel(`${price}, candidates: [{ provider: p, model: m }, { provider: p, model: m }]`);
  hasFault(twin, '3:131 models[0].candidates[1]: is the same as candidates[0] of this model');
  // Prices are filed by provider/model, so these would share one.
  const alike = `providers: [{ slug: p, ${provider} }, { slug: p/q, ${provider} }]
models: [{ id: a/b, context_length: 1, ${price}, candidates: [{ provider: p, model: q/r }, { provider: p/q, model: r }] }]`;
  hasFault(alike, '2:131 models[0].candidates[1]: is the same as candidates[0] of this model');
  configOf(
    withModel(`${price}, candidates: [{ provider: p, model: m }, { provider: p, model: n }, { slot: s }]`),
  );
});

test('a model without candidates is a fault', () => {
  hasFault(withModel(`${price}, candidates: []`), '3:103 models[0].candidates: needs at least one item');
  hasFault(
    withModel(price),
    '3:10 models[0].candidates: is missing: needs candidates, or one provider or slot',
  );
});

test('a missing price is a fault; the price of the candidate or of the model is enough', () => {
  hasFault(
    withModel('candidates: [{ slot: s }]'),
    '3:55 models[0].candidates[0].price: is missing, and the model has none either: a model without a price cannot be served',
  );
  const [model] = configOf(withModel(`candidates: [{ slot: s, ${price} }]`)).models;
  assert.equal(model?.candidates[0]?.price.prompt, 10n ** 12n);
  configOf(withModel(`${price}, candidates: [{ slot: s }]`));
});

test('listen and admin cannot share a port, unless it is chosen by the system', () => {
  hasFault('admin: { port: 8787 }', '1:16 admin.port: listen and admin have the same port');
  hasFault('listen: { port: 8788 }', '1:17 listen.port: listen and admin have the same port');
  hasFault(
    'listen: { port: 65536 }',
    '1:17 listen.port: must be a whole number from 0 to 65535, not "65536"',
  );
  assert.equal(configOf('listen: { port: 0 }\nadmin: { port: 0 }').listen.port, 0);
});

test('a slot is a command or an external server', () => {
  const external = 'external: { base_url: "http://h" }';
  hasFault(
    `slots: [{ name: s, command: [e, "{port}"], ${external} }]`,
    '1:9 slots[0]: needs only one of command and external',
  );
  hasFault(
    `slots: [{ name: s, ${external}, cwd: / }]`,
    '1:56 slots[0].cwd: has no effect for a slot with external',
  );
  hasFault(
    'slots: [{ name: s, command: [e] }]',
    '1:29 slots[0].command: does not contain {port}, so the engine does not know where to listen',
  );
});

test('memory needs GPUs, and a GPU is named once', () => {
  hasFault(
    'slots: [{ name: s, command: ["{port}"], vram_mb: 1000 }]',
    '1:50 slots[0].vram_mb: needs gpus: it is their memory',
  );
  hasFault(
    'slots: [{ name: s, command: ["{port}"], gpus: ["0", 0] }]',
    '1:53 slots[0].gpus[1]: is in the list twice',
  );
});

test('a completion cannot be longer than its context', () => {
  hasFault(
    withModel(`${price}, max_completion_tokens: 101, candidates: [{ slot: s }]`),
    '3:114 models[0].max_completion_tokens: must not be above context_length (100), not "101"',
  );
});

test('zero retention days collect no records', () => {
  hasFault(
    withModel(`${price}, candidates: [{ provider: p, zdr: true, data_collection: true }]`),
    '3:147 models[0].candidates[0].data_collection: contradicts zdr: data that is not retained cannot be collected',
  );
  const [model] = configOf(withModel(`${price}, candidates: [{ provider: p, zdr: true }]`)).models;
  assert.equal(model?.candidates[0]?.dataCollection, false);
});

test('reserved ids are faults', () => {
  for (const id of [
    'naru/auto',
    'openrouter/x',
    'a/b:free',
    'a',
    'a/',
    '/b',
    'a/b/c',
    '"a /b"',
    '"e\u0301/b"',
  ]) {
    const text = withModel(`${price}, candidates: [{ slot: s }]`).replace('a/b', id);
    assert.equal(faultsOf(text).length, 1, id);
  }
  configOf(withModel(`${price}, candidates: [{ slot: s }]`).replace('a/b', '나루/작은-모델.v1'));
});

test('proxies are addresses and networks', () => {
  configOf('edge: { trusted_proxies: [127.0.0.1, 10.0.0.0/8, "::1", "fd00::/8"] }');
  const text = 'edge: { trusted_proxies: [10.0.0.0/33, nginx, 1.2.3.4/8/8, "::1/129"] }';
  assert.deepEqual(
    faultsOf(text).map((fault) => fault.split(' ')[0]),
    ['naru.yaml:1:27', 'naru.yaml:1:40', 'naru.yaml:1:47', 'naru.yaml:1:60'],
  );
});

test('a slot that no GPU can ever fit is a fault, as is a sleep that keeps more memory than the slot has', () => {
  const slot = (more: string): string => `slots: [{ name: s, command: ["{port}"], gpus: ["0"], ${more} }]`;
  hasFault(
    `gpus: [{ id: "0", vram_mb: 1000 }]\n${slot('vram_mb: 1001')}`,
    '2:63 slots[0].vram_mb: is more than the vram_mb of gpus[0] (1000)',
  );
  assert.deepEqual(faultsOf(`gpus: [{ id: "0", vram_mb: 1000 }]\n${slot('vram_mb: 1000')}`), []);
  assert.match(
    faultsOf(slot('vram_mb: 10, sleep: { vram_mb: 11 }')).join(),
    /sleep\.vram_mb: must not be above vram_mb \(10\)/,
  );
  assert.match(faultsOf('gpus: [{ id: a, vram_mb: 1 }, { id: a, vram_mb: 1 }]').join(), /has the same id/);
});

test('a fault in one member hides no fault between others of its mapping', () => {
  assert.deepEqual(
    faultsOf(`listen: { port: 8788, host: "a b" }
slots:
- { name: s, command: [e], gpus: 0, vram_mb: 5, sleep: { vram_mb: 6 }, unknown: 1 }
models:
- { id: a, context_length: 9, max_completion_tokens: 10, price: { prompt: -1, completion: 4e-13, per: token, confirm: true }, provider: p, slot: s }`),
    [
      'naru.yaml:1:17 listen.port: listen and admin have the same port',
      'naru.yaml:1:29 listen.host: must be an IP address or a host name, without a port',
      'naru.yaml:3:23 slots[0].command: does not contain {port}, so the engine does not know where to listen',
      'naru.yaml:3:34 slots[0].gpus: must be a list, not a single value',
      'naru.yaml:3:67 slots[0].sleep.vram_mb: must not be above vram_mb (5)',
      'naru.yaml:3:72 slots[0].unknown: unknown member',
      'naru.yaml:5:9 models[0].id: must look like author/slug, without spaces',
      'naru.yaml:5:54 models[0].max_completion_tokens: must not be above context_length (9), not "10"',
      'naru.yaml:5:75 models[0].price.prompt: must be a decimal number, 0 or more, not "-1"',
      'naru.yaml:5:91 models[0].price.completion: rounds to 0, because a rate has 12 decimals of a won per unit: write 0 for a free model',
      'naru.yaml:5:137 models[0].provider: no provider is called "p": the file has no providers',
      'naru.yaml:5:140 models[0].slot: is used together with provider: needs only one of them',
    ],
  );
});

test('a value that is invalid by itself is not compared with others', () => {
  hasFault(
    'slots: [{ name: s, command: ["{port}"], gpus: ["0"], vram_mb: -1, sleep: { vram_mb: 0 } }]',
    '1:63 slots[0].vram_mb: must be a whole number from 0 to 100000000, not "-1"',
  );
  const limits =
    'max_completion_tokens: 5, candidates: [{ slot: s, context_length: 0, max_completion_tokens: 6 }]';
  hasFault(
    withModel(`${price}, ${limits}`),
    '3:157 models[0].candidates[0].context_length: must be a whole number from 1 to 1000000000, not "0"',
  );
});

test('a comparison quotes no value from outside the file', () => {
  const text = withModel(
    `${price}, context_length: "$\{SIZE}", max_completion_tokens: "$\{MOST}", candidates: [{ slot: s }]`,
  ).replace('context_length: 100, ', '');
  assert.deepEqual(faultsOf(text, { env: { SIZE: '41235', MOST: '51234' } }), [
    'naru.yaml:3:120 models[0].max_completion_tokens: must not be above context_length',
  ]);
});

// spec:operator/2.8
test('the root of an API is stated without the path of a call', () => {
  for (const path of ['/chat/completions', '/v1/completions/', '/messages', '/Responses'])
    assert.match(
      faultsOf(`providers: [{ slug: p, dialect: openai, base_url: "https://h/api${path}" }]`).join(),
      /^naru\.yaml:1:51 providers\[0\]\.base_url: must be the root of the API: remove \/[^,]+, which Naru adds itself$/,
    );
  assert.match(
    faultsOf('slots: [{ name: s, external: { base_url: "http://h/v1/chat/completions" } }]').join(),
    /external\.base_url: must be the root of the API: remove \/chat\/completions,/,
  );
  for (const root of ['https://h/v1', 'https://h/openai/v1', 'https://h/mymessages', 'https://messages'])
    assert.deepEqual(faultsOf(`providers: [{ slug: p, dialect: openai, base_url: "${root}" }]`), []);
});

// spec:operator/2.8
test('rates that a proxy limits need the address of the proxy', () => {
  const fault =
    '1:21 edge.rate_limit: is external, so state the addresses of the proxy that limits rates in trusted_proxies';
  hasFault('edge: { rate_limit: external }', fault);
  hasFault('edge: { rate_limit: external, trusted_proxies: [] }', fault);
  configOf('edge: { rate_limit: external, trusted_proxies: [10.0.0.1] }');
  configOf('edge: { rate_limit: builtin }');
});

test('a mail server has a user with a password, which is never sent unencrypted, and one sender', () => {
  const mail = (more: string) => `mail: { host: smtp.example, ${more} }`;
  const from = 'from: naru@example.com';
  configOf(mail(from));
  configOf(mail(`${from}, user: u, password: p, security: tls, port: 465`));
  for (const [more, fault] of [
    [`${from}, user: u`, /mail\.user: needs the other/],
    [`${from}, password: p`, /mail\.password: needs the other/],
    [`${from}, user: u, password: p, security: none`, /mail\.security: would send the password unencrypted/],
    ['from: "a@b.example, c@d.example"', /mail\.from: must be one e-mail address/],
    ['port: 25', /mail\.from/],
  ] as const)
    assert.match(faultsOf(mail(more)).join(), fault);
});

// spec:operator/2.8
test('a candidate at Anthropic has a maximum of completion tokens', () => {
  const at = (
    model: string,
    candidate = '',
  ) => `providers: [{ slug: p, ${provider} }, { slug: q, dialect: anthropic, base_url: "https://h/v1" }]
models: [{ id: a/b, context_length: 100, ${price}, ${model} candidates: [{ provider: p }, { provider: q${candidate} }] }]`;
  const fault =
    'is missing, and the API of Anthropic requires one with each request: state it here or in the model';
  hasFault(at(''), `2:122 models[0].candidates[1].max_completion_tokens: ${fault}`);
  configOf(at('max_completion_tokens: 50,'));
  configOf(at('', ', max_completion_tokens: 50'));
  const short = (max: string) => at('').replace(/candidates: .*$/, `provider: q${max} }]`);
  assert.match(faultsOf(short('')).join(), /models\[0\]\.max_completion_tokens: is missing, and the API/);
  configOf(short(', max_completion_tokens: 50'));
});
