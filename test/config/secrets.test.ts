import assert from 'node:assert/strict';
import { Console } from 'node:console';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import { format, inspect } from 'node:util';
import type { Config } from '../../src/config/config.ts';
import { configOf, faultsOf } from './load-text.ts';

const secrets = {
  API: 'sk-api-0a1b2c3d',
  SYNC: 'sk-sync-4e5f6a7b',
  PW: 'pw-8c9d0e1f',
  HEADER: 'hd-2a3b4c5d',
  ID: 'aws-id-3c4d5e6f',
  KEY: 'aws-key-7a8b9c0d',
  SESSION: 'aws-session-1e2f3a4b',
  OIDC: 'oidc-5c6d7e8f',
  SMTP: 'smtp-9a0b1c2d',
};

const text = `
database: { url: "postgres://naru:$\{PW}@db/naru" }
providers:
  - slug: p
    dialect: openai
    base_url: https://h/v1
    api_key: $\{API}
    headers: { X-Extra: "$\{HEADER}" }
  - slug: q
    dialect: bedrock
    base_url: https://h
    region: us-east-1
    access_key_id: $\{ID}
    secret_access_key: $\{KEY}
    session_token: $\{SESSION}
auth:
  public_url: https://naru.example
  oidc: { issuer: "https://login.example", client_id: naru, client_secret: "$\{OIDC}" }
mail: { host: smtp.example, from: a@b.example, user: naru, password: "$\{SMTP}" }
datasets: { sync_key: "$\{SYNC}" }`;

function config(): Config {
  return configOf(text, { env: secrets });
}

test('a secret is readable through its reveal method', () => {
  const { auth, database, providers, datasets, mail } = config();
  assert.ok(database.url !== 'embedded');
  assert.equal(database.url.reveal(), `postgres://naru:${secrets.PW}@db/naru`);
  assert.equal(providers[0]?.apiKey?.reveal(), secrets.API);
  assert.equal(providers[0]?.headers['x-extra']?.reveal(), secrets.HEADER);
  assert.equal(datasets.syncKey?.reveal(), secrets.SYNC);
  assert.equal(mail?.password?.reveal(), secrets.SMTP);
  assert.equal(auth.oidc?.clientSecret.reveal(), secrets.OIDC);
  const q = providers[1];
  assert.deepEqual(
    [q?.region, q?.accessKeyId?.reveal(), q?.secretAccessKey?.reveal(), q?.sessionToken?.reveal()],
    ['us-east-1', secrets.ID, secrets.KEY, secrets.SESSION],
  );
});

// security:55
test('no way of printing shows a secret', () => {
  const whole = config();
  const one = whole.datasets.syncKey;
  const asText = (_name: string, value: unknown): unknown =>
    typeof value === 'bigint' ? String(value) : value;
  const printed = [
    JSON.stringify(whole, asText),
    inspect(whole, { depth: null, showHidden: true, getters: true }),
    inspect(whole, { depth: null, customInspect: false, showHidden: true }),
    format('%s %o %O %j', one, whole.providers, whole.database, one),
    String(one),
    `${one}`,
    `a${one as unknown as string}`,
    [one].join(),
    JSON.stringify({ ...one }),
    JSON.stringify(Object.getOwnPropertyNames(one)),
    String(new Error(`${whole.database.url}`)),
    consoleOf(whole),
    consoleOf(one),
  ];
  assert.match(printed[0] ?? '', /"syncKey":"\*\*\*"/);
  for (const line of printed) {
    for (const secret of Object.values(secrets)) assert.ok(!line.includes(secret), line);
  }
  assert.throws(() => structuredClone({ one }).one?.reveal(), TypeError);
});

// security:55
test('no fault quotes a secret, or any substituted value', () => {
  const bad = `${text}
log: { level: $\{API} }
limits: { burst: $\{PW}, body_bytes: file:key }
keys: { prefix: "$\{HEADER}" }
models: [{ id: a/b, context_length: 1, price: { prompt: 1, completion: 1, per: token }, candidates: [{ provider: $\{SYNC} }] }]`;
  const files = { '/etc/naru/key': secrets.API };
  const faults = faultsOf(bad, { env: secrets, files });
  assert.equal(faults.length, 5);
  assertQuiet(faults);
  // Written into the file itself, credentials are no more quotable.
  const inFile = `
database: { url: "mysql://u:${secrets.PW}@h" }
providers:
  - { slug: p, dialect: openai, base_url: "https://u:${secrets.PW}@h", api_key: "${secrets.API}\\n" }
  - { slug: q, dialect: openai, base_url: "${secrets.PW}", headers: { A: "${secrets.HEADER}한" } }
datasets: { sync_key: "${secrets.SYNC}\\n" }`;
  const more = faultsOf(inFile);
  assert.equal(more.length, 6, more.join('\n'));
  assertQuiet(more);
});

function assertQuiet(faults: readonly string[]): void {
  for (const secret of Object.values(secrets)) assert.ok(!faults.join().includes(secret), faults.join('\n'));
}

function consoleOf(value: unknown): string {
  let printed = '';
  const stdout = new Writable({
    write(chunk, _encoding, done) {
      printed += String(chunk);
      done();
    },
  });
  const console = new Console({ stdout });
  console.log(value);
  console.dir(value, { depth: null });
  console.log('%s %o', value, value);
  console.table([value]);
  return printed;
}
