import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parse } from 'yaml';
import { z } from 'zod';
import { configurationPage } from '../../scripts/docs-site/configuration.ts';
import { type JsonSchema, jsonSchema } from '../../src/config/json-schema.ts';
import { shippedFacts } from '../../src/config/model-metadata/shipped.ts';
import { inheritedVariables } from '../../src/config/schema-slots.ts';
import { authority } from '../harness/authority.ts';
import { backupKey } from '../harness/backup-keys.ts';
import { configOf, faultsOf } from './load-text.ts';

const page = readFileSync(new URL('../../docs/configuration.md', import.meta.url), 'utf8');
const example = readFileSync(new URL('../../naru.example.yaml', import.meta.url), 'utf8');
const proc = {
  env: {
    OPENAI_API_KEY: 'sk-a',
    OPENROUTER_API_KEY: 'sk-b',
    OTLP_TOKEN: 'sk-d',
    GOOGLE_API_KEY: 'sk-d',
    AWS_ACCESS_KEY_ID: 'aws-e',
    AWS_SECRET_ACCESS_KEY: 'aws-f',
    AWS_SESSION_TOKEN: 'aws-g',
    KUBE_TOKEN: 'sesame',
    OIDC_CLIENT_SECRET: 'oidc-h',
    TOSS_SECRET_KEY: 'test_sk_x',
    SMTP_PASSWORD: 'smtp-i',
    NARU_BACKUP_KEY: backupKey,
  },
  files: {
    '/etc/naru/secrets/anthropic-api-key': 'sk-c',
    '/etc/naru/secrets/engine-key': 'sk-i',
    '/etc/naru/secrets/company-ca.pem': authority,
    '/etc/naru/model-facts.json': shippedFacts.read(),
    '/etc/naru/secrets/kube-ca.pem': 'PEM',
  },
};

test('the page has a place for the table of every section, and no other', () => {
  const table = configurationPage(page);
  for (const member of ['`burst`', '`debt_floor_krw`', '`base_url`'])
    assert.ok(table.includes(`| ${member} |`));
  assert.throws(
    () => configurationPage(page.replace('<!-- table: limits -->', '')),
    /lacks the tables limits/,
  );
  assert.throws(
    () => configurationPage(page.replace('<!-- table: limits -->', '<!-- table: limit -->')),
    /no table limit/,
  );
});

test('the page names the variables that an engine inherits', () => {
  for (const name of inheritedVariables) assert.match(page, new RegExp(`\\b${name}\\b`));
});

test('every member is described', () => {
  const bare = membersOf(jsonSchema()).filter(
    ([, schema]) => !schema.description && schema.$ref === undefined,
  );
  assert.deepEqual(
    bare.map(([path]) => path),
    [],
  );
});

test('the example loads without a fault', () => {
  const config = configOf(example, proc);
  assert.equal(config.models[0]?.candidates.length, 3);
  assert.equal(config.providers[1]?.apiKey?.reveal(), 'sk-c');
});

test('the example has every member of the configuration', () => {
  const written = new Set<string>();
  const walk = (value: unknown, path: string): void => {
    written.add(path);
    if (Array.isArray(value)) for (const item of value) walk(item, `${path}[]`);
    else if (typeof value === 'object' && value !== null) {
      for (const [name, inner] of Object.entries(value)) walk(inner, path === '' ? name : `${path}.${name}`);
    }
  };
  walk(parse(example), '');
  const members = membersOf(jsonSchema()).map(([path]) => path);
  assert.ok(members.length > 90, String(members.length));
  assert.deepEqual(
    members.filter((path) => !written.has(path)),
    // It cannot be beside `backup.s3`.
    ['backup.directory'],
  );
  assert.match(example, /# directory: /);
});

test('an editor finds no fault in the example, and finds those that a schema can find', () => {
  const editor = z.fromJSONSchema(jsonSchema() as Parameters<typeof z.fromJSONSchema>[0]);
  assert.ok(editor.safeParse(parse(example)).success);
  assert.ok(editor.safeParse({}).success);
  for (const text of [
    'listen: { prot: 1 }',
    'limits: { burst: 0 }',
    'log: { level: loud }',
    'providers: [{}]',
    'models: {}',
  ]) {
    assert.ok(!editor.safeParse(parse(text)).success, text);
    assert.notDeepEqual(faultsOf(text), [], text);
  }
});

test('the first line of the example names the schema for editors', () => {
  assert.equal(example.split('\n')[0], '# yaml-language-server: $schema=./docs/naru.schema.json');
});

test('the member names of the specification load as written there', () => {
  const contract = `
listen: { host: 127.0.0.1, port: 8787 }
admin: { host: 127.0.0.1, port: 8788 }
database: { url: embedded }                 # or postgres://…
edge:
  rate_limit: builtin
  trusted_proxies: []
limits:
  debt_floor_krw: 5000
  upstream_timeout_ms: 600000
  connect_timeout_ms: 10000
  stream_idle_timeout_ms: 120000
  drain_timeout_ms: 620000
  crash_drain_timeout_ms: 10000
  cold_wait_ms: 5000
settlement: { ack: journal }
providers:
  - slug: openai
    name: OpenAI
    dialect: openai
    base_url: https://api.openai.com/v1
    api_key: $\{OPENAI_API_KEY}
slots:
  - name: local-a
    command: [llama-server, -m, /models/a.gguf, --port, "{port}"]
    ready_path: /health
    start_budget_ms: 120000
    idle_stop_ms: 900000
    max_concurrency: 4
    gpus: ["0"]
    vram_mb: 20000
models:
  - id: author/slug
    name: "Author: Model"
    description: …
    context_length: 32768
    max_completion_tokens: 32768
    input_modalities: [text]
    supported_parameters: [tools, temperature]
    price: { prompt: 0.4, completion: 1.2, currency: KRW, per: 1M }
    candidates:
      - { slot: local-a }
      - { provider: openai, model: gpt-x, context_length: 128000, price: { prompt: 1, completion: 2, per: token, confirm: true }, weight: 1 }
datasets:
  sync_key: $\{OPENROUTER_API_KEY}
  samples: true
`;
  const [model] = configOf(contract, proc).models;
  assert.equal(model?.candidates[0]?.price.prompt, 400_000n);
  assert.equal(model?.candidates[1]?.contextLength, 128_000);
});

/**
 * Every member of the schema with its path, items of lists as `[]`, shared sections written out.
 */
function membersOf(schema: JsonSchema, path = '', root = schema): readonly (readonly [string, JsonSchema])[] {
  const shared = schema.$ref === undefined ? schema : root.$defs?.[schema.$ref.replace('#/$defs/', '')];
  const own = Object.entries(shared?.properties ?? {}).flatMap(([name, member]) => {
    const inner = path === '' ? name : `${path}.${name}`;
    return [[inner, member] as const, ...membersOf(member, inner, root)];
  });
  return schema.items === undefined ? own : [...own, ...membersOf(schema.items, `${path}[]`, root)];
}
