import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { examineMetadata } from '../../src/admin/doctor/findings.ts';
import { createTestDatabase, type TestDatabase, urlOf } from '../harness/database.ts';
import { eventually } from '../harness/until.ts';
import { reply, startUpstream, type Upstream } from '../harness/upstream.ts';
import { createInstallation, type Installation, type Serving } from './naru.ts';

/*
 * Models of one line, and `naru models facts|refresh|update`: a price from a snapshot never changes
 * silently.
 */

let source: Upstream;
let database: TestDatabase;
let installation: Installation;
let file: string;
let copy: string;

before(async () => {
  source = await startUpstream();
  database = await createTestDatabase();
  installation = createInstallation();
  copy = join(installation.dataDir, 'model-facts.json');
  file = installation.configure({
    database: { url: urlOf(database.address) },
    exchange: { usd_krw: 1000 },
    providers: [{ slug: 'openai', dialect: 'openai', base_url: source.url }],
    models: [{ id: 'openai/gpt-4o-mini', provider: 'openai' }],
  });
});
after(async () => {
  await source?.close();
  installation?.remove();
  await database?.drop();
});

/** A listing of one model at this price for a prompt token. */
function listing(prompt: string, id = 'openai/gpt-4o-mini'): string {
  const pricing = { prompt, completion: '0.0000006' };
  return JSON.stringify({
    data: [{ id, name: 'Listed', context_length: 64_000, pricing }, { id: 'a/bad' }],
    links: { next: null },
  });
}

async function prompts(): Promise<readonly string[]> {
  const { rows } = await installation.json('models', 'history', 'openai/gpt-4o-mini', '--config', file);
  return rows.map((row) => row.prompt);
}

test('config check shows the metadata in use, its date and the upstream model ids; it writes nothing', async () => {
  const people = await installation.run('config', 'check', '--config', file);
  assert.equal(people.code, 0);
  assert.match(
    people.out,
    /naru\.yaml: no faults\nfrom the public model metadata of 20\d\d-\d\d-\d\d \(shipped with Naru; .*\):\n {2}openai\/gpt-4o-mini: name, .*, price \(USD 0\.15\/0\.6 per 1M\); metadata of gpt-4o-mini\n$/,
  );
  const [row] = (await installation.json('config', 'check', '--config', file)).rows;
  assert.equal(row.facts.origin, 'shipped with Naru');
  assert.deepEqual(row.facts.models[0].id, 'openai/gpt-4o-mini');
  assert.equal(existsSync(installation.dataDir), false);
});

test('metadata is found by a part of an id', async () => {
  const { rows } = await installation.json('models', 'facts', 'GPT-4o-mini');
  assert.equal(rows.length, 1);
  assert.equal(rows[0].price.prompt, '0.15');
  assert.ok((await installation.json('models', 'facts')).rows.length > 50);
  const none = await installation.run('models', 'facts', 'openai/gpt-4o-mimi');
  assert.deepEqual([none.code, none.out], [1, '']);
  assert.match(
    none.err,
    /^naru: the model metadata of .* has no model openai\/gpt-4o-mimi \(did you mean "openai\/gpt-4o-mini"\?\)\n$/,
  );
});

test('the first publication keeps its metadata; a refresh changes no price until a publication, and history has both', async () => {
  assert.equal((await installation.run('models', 'publish', '--config', file)).code, 0);
  assert.deepEqual(
    JSON.parse(readFileSync(copy, 'utf8')),
    JSON.parse(readFileSync(join(import.meta.dirname, '../../data/model-metadata.json'), 'utf8')),
  );
  assert.deepEqual(await prompts(), ['0.00015']);
  source.always(reply.status(200, listing('0.0000002')));
  const refreshed = await installation.json(
    'models',
    'refresh',
    '--from',
    `${source.url}/models`,
    '--config',
    file,
  );
  assert.equal(refreshed.code, 0, refreshed.err);
  const [report] = refreshed.rows;
  assert.equal(report.path, copy);
  assert.deepEqual(report.price_changed, ['openai/gpt-4o-mini']);
  assert.deepEqual(report.left_out, { 'its price is not a pair of decimal numbers': 1 });
  assert.ok(report.gone.length > 50);
  assert.deepEqual(await prompts(), ['0.00015'], 'nothing is published by a refresh');
  const diff = (await installation.json('models', 'diff', '--config', file)).rows;
  assert.deepEqual(diff[0], {
    ...{ change: 'price_changed', model: 'openai/gpt-4o-mini', candidate: 'openai/gpt-4o-mini' },
    ...{ what: 'prompt', before: '0.00015', after: '0.0002', warning: null },
  });
  assert.equal((await installation.run('models', 'publish', '--config', file)).code, 0);
  assert.deepEqual(await prompts(), ['0.00015', '0.0002']);
  const last = (await installation.json('models', 'history', '--config', file)).rows.at(-1);
  assert.equal(last.stated, 'USD 0.2/0.6 per 1M');
  assert.match(last.facts_as_of, /^20\d\d-\d\d-\d\d$/);
});

test('a running server keeps its price over a refresh, and uses the new one after SIGHUP', async () => {
  let serving: Serving | undefined;
  try {
    serving = await installation.up('--config', file);
    const shown = async (): Promise<string> => {
      const response = await fetch(`${serving?.origin}/api/v1/models`);
      const { data } = (await response.json()) as { data: { pricing: { prompt: string } }[] };
      return data[0]?.pricing.prompt ?? '';
    };
    assert.equal(await shown(), '0.0002');
    assert.doesNotMatch(serving.err(), /reloaded/, 'what was published before the start is no news');
    source.always(reply.status(200, listing('0.0000003')));
    assert.equal((await installation.run('models', 'refresh', '--from', `${source.url}/models`)).code, 0);
    assert.equal(await shown(), '0.0002');
    serving.child.kill('SIGHUP');
    await eventually('the new price', 5_000, async () => ((await shown()) === '0.0003' ? true : null));
    await eventually('its line in the log', 5_000, () =>
      /"event":"catalogue_changed","change":"price_changed".*"before":"0\.0002\/0\.0006","after":"0\.0003\/0\.0006"/.test(
        serving?.err() ?? '',
      )
        ? true
        : null,
    );
    // The model is gone from the metadata: the row has no price any more, so the file is rejected
    // and the server continues.
    source.always(reply.status(200, listing('0.0000004', 'a/other')));
    assert.equal((await installation.run('models', 'refresh', '--from', `${source.url}/models`)).code, 0);
    serving.child.kill('SIGHUP');
    await eventually('the refusal', 5_000, () =>
      /not reloaded.*models\[0\]\.context_length: is missing, and the public facts of/.test(
        serving?.err() ?? '',
      )
        ? true
        : null,
    );
    assert.equal(await shown(), '0.0003');
    // The shipped metadata is restored.
    assert.equal((await installation.run('models', 'refresh')).code, 0);
    assert.equal((await installation.run('models', 'publish')).code, 0);
    await eventually('the shipped price', 5_000, async () => ((await shown()) === '0.00015' ? true : null));
  } finally {
    await serving?.stop();
  }
});

test('a failed refresh leaves the copy unchanged: exit code 1 and one line', async () => {
  const before = readFileSync(copy, 'utf8');
  const failing: readonly (readonly [from: string, body: string | null, words: RegExp])[] = [
    [
      `${source.url}/models?key=secret`,
      'not json',
      /no model metadata from http:\/\/127\.0\.0\.1:\d+\/v1\/models: it is not JSON/,
    ],
    [`${source.url}/models`, '{"data":[]}', /none of its 0 rows is a model/],
    [`${source.url}/models`, '['.repeat(100_000), /it is not JSON/],
    [
      join(installation.folder, 'none.json'),
      null,
      /no model metadata from .*none\.json: it cannot be read \(ENOENT\)/,
    ],
    [installation.folder, null, /it cannot be read \(EISDIR\)/],
    [
      'http://127.0.0.1:1/models',
      null,
      /no model metadata from http:\/\/127\.0\.0\.1:1\/models: .*ECONNREFUSED/,
    ],
  ];
  for (const [from, body, message] of failing) {
    if (body !== null) source.always(reply.status(200, body));
    const { code, out, err } = await installation.run('models', 'refresh', '--from', from);
    assert.deepEqual([code, out], [1, ''], err);
    assert.match(err, message);
    assert.doesNotMatch(err, /secret|\n {4}at /);
    assert.equal(readFileSync(copy, 'utf8'), before);
  }
});

test('the configuration may name the file; a refresh repairs a damaged one, and a file can be the source', async () => {
  const folder = join(installation.folder, 'other');
  mkdirSync(folder);
  const named = join(folder, 'naru.yaml');
  const own = join(folder, 'facts.json');
  writeFileSync(named, readFileSync(file, 'utf8').replace(/^{/, '{"facts":{"file":"facts.json"},'));
  writeFileSync(own, '{"half":');
  const damaged = await installation.run('config', 'check', '--config', named);
  assert.equal(damaged.code, 1);
  assert.match(
    damaged.out,
    /1:\d+ facts\.file: the facts of models \(.*facts\.json\) cannot be used: it is not JSON; naru models refresh writes new ones/,
  );
  const from = join(installation.folder, 'listing.json');
  writeFileSync(from, listing('0.0000005'));
  const [report] = (await installation.json('models', 'refresh', '--config', named, '--from', from)).rows;
  assert.equal(report.path, own);
  const [check] = (await installation.json('config', 'check', '--config', named)).rows;
  assert.equal(check.facts.origin, own);
  assert.equal(check.facts.source, from);
});

// spec:operator/2.7
test('an update from a file changes no price, prints the differences, and is used by the next start', async () => {
  const list = join(installation.folder, 'api.json');
  const gpt = { name: 'Other', limit: { context: 256_000, output: 32_000 }, cost: { input: 99, output: 99 } };
  writeFileSync(
    list,
    JSON.stringify({ openai: { models: { 'gpt-4o-mini': gpt, 'gpt-99': { limit: { context: 1000 } } } } }),
  );
  const before = JSON.parse(readFileSync(copy, 'utf8'));
  const dry = await installation.run('models', 'update', list, '--dry-run', '--config', file);
  assert.equal(dry.code, 0, dry.err);
  assert.match(dry.out, /^openai\/gpt-4o-mini: context_length: 128000 -> 256000$/m);
  assert.match(dry.out, /^added 1: openai\/gpt-99$/m);
  assert.match(dry.out, /nothing was written \(--dry-run\)\n$/);
  assert.deepEqual(JSON.parse(readFileSync(copy, 'utf8')), before);
  const [done] = (await installation.json('models', 'update', list, '--config', file)).rows;
  assert.deepEqual([done.path, done.written, done.added], [copy, true, ['openai/gpt-99']]);
  const after = JSON.parse(readFileSync(copy, 'utf8'));
  assert.equal(after.prices_as_of, before.as_of);
  const pricesOf = ({ models }: typeof after) =>
    models.flatMap(({ id, price }: typeof after) => (price === undefined ? [] : [[id, price]]));
  assert.deepEqual(pricesOf(after), pricesOf(before));
  assert.deepEqual((await installation.json('models', 'diff', '--config', file)).rows, []);
  const [again] = (await installation.json('models', 'update', list, '--config', file)).rows;
  assert.deepEqual([again.added, again.changed], [[], []]);
  const serving = await installation.up('--config', file);
  try {
    const response = await fetch(`${serving.origin}/api/v1/models`);
    const { data } = (await response.json()) as {
      data: { context_length: number; pricing: { prompt: string } }[];
    };
    assert.deepEqual([data[0]?.context_length, data[0]?.pricing.prompt], [256_000, '0.00015']);
  } finally {
    await serving.stop();
  }
});

test('a failed update leaves the copy unchanged: exit code 1 and one line', async () => {
  const before = readFileSync(copy, 'utf8');
  const from = join(installation.folder, 'odd.json');
  const failing: readonly (readonly [text: string, words: RegExp])[] = [
    ['not json', /odd\.json: it is not JSON/],
    ['['.repeat(200_000), /it is not JSON/],
    ['{"a":{"b":1}}', /it is none of: a listing .*, the price file of LiteLLM, the api\.json of models\.dev/],
    [
      '{"openai":{"models":{"gpt-9":{"limit":{"context":-5}}}}}',
      /none of its 1 rows is a model \(1 × it has no context/,
    ],
    [' '.repeat(33_554_433), /it cannot be read \(EFBIG\)/],
  ];
  for (const [text, words] of failing) {
    writeFileSync(from, text);
    const { code, out, err } = await installation.run('models', 'update', from);
    assert.deepEqual([code, out], [1, ''], err);
    assert.match(err, words);
    assert.equal(readFileSync(copy, 'utf8'), before);
  }
  const none = await installation.run('models', 'update', join(installation.folder, 'none.json'));
  assert.match(none.err, /none\.json: it cannot be read \(ENOENT\)/);
});

test('doctor shows the date of the metadata, and warns when it is older than 180 days', () => {
  const metadata = { asOf: '2026-01-15', source: 'a list' };
  const at = (day: string) => examineMetadata({ metadata }, Date.parse(`${day}T12:00:00+09:00`));
  assert.deepEqual(at('2026-07-14'), [
    { name: 'model metadata', ok: true, message: 'of 2026-01-15 (a list)' },
  ]);
  const [old] = at('2026-07-15');
  assert.deepEqual([old?.ok, old?.isWarning], [true, true]);
  assert.match(old?.message ?? '', /older than 180 days: naru models update FILE/);
  assert.deepEqual(examineMetadata({ metadata: null }, 0), []);
});
