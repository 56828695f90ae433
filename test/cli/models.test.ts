import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { sample } from '../harness/tier.ts';
import { eventually } from '../harness/until.ts';
import { reply, startUpstream, type Upstream } from '../harness/upstream.ts';
import { createInstallation, type Installation, type Serving } from './naru.ts';

/* `naru models list|diff|publish|history` beside a server that runs. */

let upstream: Upstream;
let installation: Installation;
let serving: Serving;
let key: string;

before(async () => {
  upstream = await startUpstream();
  upstream.always(reply.chat('네', { usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } }));
  installation = createInstallation({ hasCluster: true });
  serving = await installation.up('--config', configure({}));
  await installation.json('credit', 'grant', '--account', '1', '--amount', '100000');
  key = (await installation.json('key', 'create', '--account', '1', '--name', 'k')).rows[0].key;
});
after(async () => {
  await serving?.stop();
  await upstream?.close();
  installation?.remove();
});

interface Wanted {
  readonly prompt?: string;
  readonly usdKrw?: string;
  readonly more?: readonly object[];
  readonly tree?: object;
}

/** Writes the file: test/usd in dollars, and what a test adds to it. */
function configure({ prompt = '0.01', usdKrw = '1000', more = [], tree = {} }: Wanted): string {
  const candidates = [{ provider: 'up', model: 'echo' }];
  return installation.configure({
    exchange: { usd_krw: usdKrw, margin_percent: '2.5' },
    providers: [{ slug: 'up', dialect: 'openai', base_url: upstream.url, api_key: 'provider-key' }],
    models: [
      {
        id: 'test/usd',
        context_length: 4096,
        price: { prompt, completion: '0.02', currency: 'USD', per: 'token', confirm: true },
        candidates,
      },
      ...more.map((model) => ({
        context_length: 4096,
        price: { prompt: 1, completion: 1, per: 'token' },
        candidates,
        ...model,
      })),
    ],
    ...tree,
  });
}

/**
 * The current cost of one response of a model: ten prompt tokens and five of completion; null when
 * it is not offered.
 */
async function costOf(model: string): Promise<number | null> {
  const response = await fetch(`${serving.origin}/api/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: '안녕' }] }),
  });
  const body = (await response.json()) as { usage?: { cost: number } };
  return response.status === 200 ? (body.usage?.cost ?? -1) : null;
}

test('a price in dollars is published when the server starts, and history has its rate, its margin and the instant in Seoul', async () => {
  const { code, rows } = await installation.json('models', 'history', 'test/usd');
  assert.equal(code, 0);
  assert.equal(rows.length, 1);
  const [{ published_at, ...row }] = rows;
  assert.match(published_at, /^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+09:00$/);
  assert.ok(Math.abs(Date.parse(published_at) - Date.now()) < 600_000, published_at);
  assert.deepEqual(row, {
    version: row.version,
    model: 'test/usd',
    candidate: 'up/echo',
    prompt: '10.25',
    completion: '20.5',
    request: '0',
    cache_read: '10.25',
    cache_write: '10.25',
    currency: 'USD',
    stated: 'USD 0.01/0.02 per token',
    tiers: null,
    upstream_price: null,
    usd_krw: '1000',
    margin_percent: '2.5',
    facts_as_of: null,
  });
  assert.equal(await costOf('test/usd'), 10 * 10.25 + 5 * 20.5);
});

test('diff shows what a publication would change and changes nothing; publish applies it to the running server', async () => {
  const nothing = await installation.run('models', 'diff', '--exit-code');
  assert.deepEqual(
    [nothing.code, nothing.out, nothing.err],
    [0, '', 'no difference: the configuration file is already published\n'],
  );
  configure({ prompt: '0.03', usdKrw: '2000', more: [{ id: 'test/new' }] });
  const diff = await installation.json('models', 'diff', '--exit-code');
  assert.equal(diff.code, 1);
  const row = { change: 'price_changed', model: 'test/usd', candidate: 'up/echo' };
  const added = { change: 'model_added', model: 'test/new', candidate: 'up/echo', before: null, after: '1' };
  const warning = null;
  const expected = [
    { ...row, what: 'prompt', before: '10.25', after: '61.5' },
    { ...row, what: 'completion', before: '20.5', after: '41' },
    { ...row, what: 'cache_read', before: '10.25', after: '61.5' },
    { ...row, what: 'cache_write', before: '10.25', after: '61.5' },
    { ...row, what: 'stated', before: 'USD 0.01/0.02 per token', after: 'USD 0.03/0.02 per token' },
    { ...row, what: 'usd_krw', before: '1000', after: '2000' },
    { ...added, what: 'prompt' },
    { ...added, what: 'completion' },
  ].map((one) => ({ ...one, warning }));
  assert.deepEqual(diff.rows, expected);
  const people = await installation.run('models', 'diff');
  assert.match(
    people.out,
    /^change\tmodel\tcandidate\twhat\tbefore\tafter\twarning\nprice_changed\ttest\/usd\tup\/echo\tprompt\t10\.25\t61\.5\t-\n/,
  );
  assert.equal(await costOf('test/usd'), 205, 'a diff changes nothing');
  assert.equal(await costOf('test/new'), null);

  const published = await installation.json('models', 'publish');
  assert.equal(published.code, 0);
  assert.deepEqual(published.rows.slice(0, -1), expected);
  const { edition, ...taken } = published.rows.at(-1);
  assert.deepEqual(taken, { changes: 2, not_taken: [], differing: [] });
  assert.equal(await costOf('test/usd'), 10 * 61.5 + 5 * 41, 'the command waits for the server');
  const [node] = (await installation.json('node', 'list')).rows;
  assert.deepEqual([node.edition, node.prices], [edition, 'as published']);
  await eventually('the new price', 5_000, async () =>
    (await costOf('test/usd')) === 10 * 61.5 + 5 * 41 ? true : null,
  );
  assert.equal(await costOf('test/new'), 15);
  assert.equal((await installation.json('models', 'diff')).rows.length, 0);
  const listed = (await installation.json('models', 'list')).rows;
  assert.deepEqual(
    listed.map(({ model, prompt }) => [model, prompt]),
    [
      ['test/usd', '61.5'],
      ['test/new', '1'],
    ],
  );
});

test('a publication without changes creates no version, and the server still reads the file again', async () => {
  const before = (await installation.json('models', 'history')).rows.length;
  configure({ prompt: '0.03', usdKrw: '2000', more: [{ id: 'test/new', name: '새 모델' }] });
  const { code, rows } = await installation.json('models', 'publish');
  assert.equal(code, 0);
  assert.equal(rows.length, 1);
  assert.equal(rows[0].changes, 0);
  await eventually('the new name', 5_000, async () => {
    const listing = await (await fetch(`${serving.origin}/api/v1/models`)).text();
    return listing.includes('새 모델') ? true : null;
  });
  assert.equal((await installation.json('models', 'history')).rows.length, before);
});

test('a file with a fault is not published, neither by the command nor by SIGHUP, and the old prices stay', async () => {
  const before = (await installation.json('models', 'history')).rows;
  configure({ prompt: '-1', more: [{ id: 'test/new' }] });
  const refused = await installation.run('models', 'publish');
  assert.deepEqual([refused.code, refused.out], [1, '']);
  assert.match(
    refused.err,
    /the configuration has 1 fault:\n.*naru\.yaml:1:\d+ models\[0\]\.price\.prompt: must be a decimal number/,
  );
  const output = serving.err().length;
  serving.child.kill('SIGHUP');
  await eventually('the refusal', 5_000, () =>
    serving.err().slice(output).includes('configuration not reloaded, the old one stays in effect')
      ? true
      : null,
  );
  assert.equal(await costOf('test/usd'), 10 * 61.5 + 5 * 41);
  configure({ prompt: '0.03', usdKrw: '2000', more: [{ id: 'test/new' }] });
  assert.deepEqual((await installation.json('models', 'history')).rows, before);
});

test('SIGHUP publishes a changed file too, and many at once end with the last file', async () => {
  for (const prompt of ['0.04', '0.05', '0.06', '0.07']) {
    configure({ prompt, usdKrw: '2000' });
    serving.child.kill('SIGHUP');
  }
  await eventually('the last price', 5_000, async () =>
    (await costOf('test/usd')) === 10 * 143.5 + 5 * 41 ? true : null,
  );
  assert.equal(await costOf('test/new'), null, 'what is gone from the file is gone');
  const last = (await installation.json('models', 'history', 'test/usd')).rows.at(-1);
  assert.equal(last.prompt, '143.5');
  assert.equal(
    (await installation.json('models', 'history', 'test/new')).rows.length,
    1,
    'and its price is still on record',
  );
});

// spec:money/2.6
test('a publication whose file needs a restart is billed; the server keeps its configuration, and everything says so', async () => {
  const status = serving.err().length;
  const edge = { trusted_proxies: ['10.0.0.0/8'] };
  configure({ prompt: '0.08', usdKrw: '2000', more: [{ id: 'test/late' }], tree: { edge } });
  const published = await installation.run('models', 'publish');
  assert.equal(published.code, 0);
  assert.match(published.out, /node \d+ .* bills it, but its configuration differs in 2 prices/);
  assert.match(serving.err().slice(status), /not reloaded.*`edge` changed/);
  assert.equal(await costOf('test/usd'), 10 * 164 + 5 * 41);
  assert.equal(await costOf('test/late'), null, 'its configuration does not have it');
  assert.equal((await installation.json('node', 'list')).rows[0].prices, 'differs in 2 prices');
  const doctor = await installation.run('doctor');
  assert.match(
    doctor.out,
    /FAULT\tprices\tnode \d+ .* bills edition \d+, and its configuration differs in 2/,
  );
  configure({ prompt: '0.07', usdKrw: '2000' });
  assert.equal((await installation.run('models', 'publish')).code, 0);
  assert.match((await installation.run('doctor')).out, /ok\tprices\tedition \d+ on 1 node/);
});

test('a price that changes by more than a factor of ten is marked, and published with --yes only', async () => {
  configure({ prompt: '0.71', usdKrw: '2000' });
  const { rows } = await installation.json('models', 'diff');
  assert.deepEqual([...new Set(rows.map(({ warning }) => warning))], ['beyond x10']);
  const refused = await installation.run('models', 'publish');
  assert.deepEqual([refused.code, refused.out], [1, '']);
  assert.match(refused.err, /nothing was published: the price of test\/usd at up\/echo changes by more/);
  assert.equal(await costOf('test/usd'), 10 * 143.5 + 5 * 41);
  assert.equal((await installation.run('models', 'publish', '--yes')).code, 0);
  assert.equal(await costOf('test/usd'), 10 * 1455.5 + 5 * 41);
  configure({ prompt: '0.07', usdKrw: '2000' });
  assert.equal((await installation.run('models', 'publish')).code, 1, 'nor back');
  assert.equal((await installation.run('models', 'publish', '--yes')).code, 0);
});

test('two concurrent publications create one version', async () => {
  // Counted first: the server may still be reading the file for the publication before, and then
  // publishes what it finds.
  const before = (await installation.json('models', 'history', 'test/usd')).rows.length;
  configure({ prompt: '0.09', usdKrw: '2000' });
  const both = await Promise.all([
    installation.json('models', 'publish'),
    installation.json('models', 'publish'),
  ]);
  assert.deepEqual(
    both.map(({ code }) => code),
    [0, 0],
  );
  assert.equal(both[0]?.rows.at(-1).edition, both[1]?.rows.at(-1).edition);
  assert.equal((await installation.json('models', 'history', 'test/usd')).rows.length, before + 1);
});

test('a failed command prints one line with exit code 1', async () => {
  const unknown = await installation.run('models', 'history', 'test/usb');
  assert.deepEqual([unknown.code, unknown.out], [1, '']);
  assert.equal(
    unknown.err,
    'naru: no price was ever published for model test/usb (did you mean "test/usd"?)\n',
  );
  const none = await installation.run('models', 'diff', '--config', join(installation.folder, 'none.yaml'));
  assert.equal(none.code, 1);
  assert.match(none.err, /^naru: no configuration file .*none\.yaml\n$/);
  const away = join(installation.folder, 'away.yaml');
  writeFileSync(away, 'database: { url: "postgres://naru:secret-word@127.0.0.1:1/naru" }\n');
  for (const command of sample(['list', 'diff', 'publish', 'history'], 1)) {
    const { code, out, err } = await installation.run('models', command, '--config', away);
    assert.deepEqual([code, out], [1, ''], command);
    assert.match(err, /^naru: the database is unavailable: nothing listens at that address.*\n$/, command);
    assert.doesNotMatch(err, /secret-word/);
  }
});
