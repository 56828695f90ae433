import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eventually, until } from '../harness/until.ts';
import { reply, startUpstream, type Upstream } from '../harness/upstream.ts';
import { createInstallation, type Installation, type Serving, systemUser } from './naru.ts';

/* `naru route` and `naru generation show`, beside a server and without one. */

let one: Upstream;
let two: Upstream;
let installation: Installation;
let serving: Serving;
let key: string;

before(async () => {
  [one, two] = await Promise.all([startUpstream(), startUpstream()]);
  installation = createInstallation({ hasCluster: true });
  const price = { prompt: 1, completion: 2, per: 'token', confirm: true };
  const file = installation.configure({
    providers: [
      { slug: 'up1', dialect: 'openai', base_url: one.url },
      { slug: 'up2', dialect: 'openai', base_url: two.url, parameters: { seed: 'drop', top_k: 'k' } },
    ],
    models: [
      {
        id: 'a/b',
        context_length: 8_000,
        price,
        candidates: [
          { provider: 'up1', model: 'x' },
          { provider: 'up2', model: 'x', context_length: 16_000 },
        ],
      },
    ],
  });
  // What is explained without a server is the file's.
  const offline = await installation.run('route', 'explain', '--config', file, '--model', 'a/b');
  assert.equal(offline.code, 0, offline.err);
  assert.match(offline.out, /1\. up1\/x is first: its health is unknown/);
  assert.match(offline.out, /no running server was found/);
  assert.equal((await installation.run('route', 'health', '--config', file)).code, 1);
  serving = await installation.up('--config', file);
  const account = (await installation.json('account', 'create', '--name', 'x')).rows[0].account_id;
  await installation.json('credit', 'grant', '--account', String(account), '--amount', '100000');
  key = (await installation.json('key', 'create', '--account', String(account), '--name', 'k')).rows[0].key;
});
after(async () => {
  await serving?.stop();
  installation?.remove();
  await one?.close();
  await two?.close();
});

async function send(): Promise<Response> {
  return fetch(`${serving.origin}/api/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'a/b', messages: [{ role: 'user', content: 'x' }], seed: 7, top_k: 5 }),
  });
}

// spec:operator/1.17
test('the explanation uses the health of the running server', async () => {
  one.always(reply.tooMany('300'));
  two.always(reply.chat('two'));
  const response = await send();
  assert.equal(response.headers.get('x-service-provider'), 'up2');
  const { code, out } = await installation.run('route', 'explain', '--model', 'a/b');
  assert.equal(code, 0);
  assert.match(out, /1\. up2\/x is first: it is healthy \(100 % of 1 in 30 min\)/);
  assert.match(out, /2\. up1\/x is second: it is rate-limited, \d+ s of its cool-down are left/);
  assert.match(out, /Health as the running server sees it now\./);
  const [row] = (await installation.json('route', 'explain', '--model', 'a/b', '--prompt-tokens', '9000'))
    .rows;
  assert.equal(row.health, 'live');
  assert.deepEqual(
    row.candidates.map((each: { place: number | null; reason: string | null }) => [each.place, each.reason]),
    [
      [1, null],
      [null, 'context_too_small'],
    ],
  );
  const { rows } = await installation.json('route', 'health');
  assert.deepEqual(
    rows.map((each) => [each.candidate, each.circuit, each.cool_down_s > 200, each.uptime_30m]),
    [
      ['up1/x', 'closed', true, null],
      ['up2/x', 'closed', false, 100],
    ],
  );
  const id = response.headers.get('x-service-generation-id') ?? '';
  await response.text();
  const second = (await send()).headers.get('x-service-generation-id') ?? '';
  const shown = (which: string): Promise<string> =>
    eventually('it is settled', 20_000, async () => {
      const { code: exit, out: text } = await installation.run('generation', 'show', which);
      return exit === 0 ? text : null;
    });
  assert.match(
    await shown(id),
    /attempts\n {2}1\. up1\/x \(a\/b\): refused, 429.*\n {2}2\. up2\/x \(a\/b\): responded, 200, \d+ ms; parameters: top_k renamed to k, seed dropped\n/,
  );
  const costOf = (text: string) => text.slice(text.indexOf('\ncost\n'));
  assert.match(
    costOf(await shown(id)),
    /^\ncost\n {2}prompt: (\d+) × 1 = \1 won\n {2}completion: \d+ × \d+ = \d+ won\n {2}sum (\d+) won; billed \2\.000000 won\n/,
  );
  assert.equal(await shown(response.headers.get('x-service-request-id') ?? ''), await shown(id));
  assert.match(await shown(second), /order\n {2}by file: up2\/x, up1\/x\n {2}demoted: up1\/x: cooling down/);
});

test('a request that cannot be explained prints the error that the API returns', async () => {
  for (const [args, message] of [
    [['--model', 'no/such'], /no\/such is not a valid model id/],
    [['--model', 'a/b', '--provider', '{"only":1}'], /`provider.only` must be an array/],
    [[], /--model or --models/],
  ] as const) {
    const { code, err } = await installation.run('route', 'explain', ...args);
    assert.equal(code, 1, err);
    assert.match(err, message);
  }
  assert.equal((await installation.run('route', 'explain', '--model', 'a/b', '--provider', 'x')).code, 2);
  assert.equal((await installation.run('generation', 'show', 'gen-nothing')).code, 2);
});

test('preferences, sessions and keys of a question reach the server', async () => {
  const { out } = await installation.run(
    'route',
    'explain',
    '--models',
    'a/b',
    '--order',
    'up1',
    '--sort',
    'price',
    '--image',
  );
  assert.match(out, /No candidate can serve a\/b/);
  const only = await installation.json(
    'route',
    'explain',
    '--model',
    'a/b',
    '--only',
    'up2',
    '--session',
    's',
    '--account',
    '1',
  );
  assert.deepEqual(
    only.rows[0].candidates.map((each: { candidate: string; reason: string | null }) => [
      each.candidate,
      each.reason,
    ]),
    [
      ['up2/x', null],
      ['up1/x', 'not_in_only'],
    ],
  );
  const account = (await installation.json('account', 'create', '--name', 'y')).rows[0].account_id;
  const { hash } = (await installation.json('key', 'create', '--account', String(account), '--name', 'k'))
    .rows[0];
  await installation.json('key', 'limit', hash, '--allowed-providers', 'up2', '--reason', 'x');
  const own = await installation.json('route', 'explain', '--model', 'a/b', '--key', hash.slice(0, 12));
  assert.deepEqual(
    own.rows[0].candidates.map((each: { candidate: string; reason: string | null }) => [
      each.candidate,
      each.reason,
    ]),
    [
      ['up2/x', null],
      ['up1/x', 'not_allowed'],
    ],
  );
});

test('a candidate is drained, listed and resumed, and the running server follows', async () => {
  one.always(reply.chat('one'));
  two.always(reply.chat('two'));
  const drain = ['route', 'drain', 'a/b', 'up2/x', '--reason', '새 장비', '--idempotency-key', 'd1'];
  const { code, out, err } = await installation.run(...drain);
  assert.equal(code, 0, err);
  assert.equal(out, 'up2/x of a/b is drained: it gets no new requests, and those in flight finish\n');
  assert.match((await installation.run(...drain)).out, /^already done: .* it is drained now$/m);
  await until('the server follows', async () =>
    (await installation.run('route', 'explain', '--model', 'a/b')).out.includes(
      'up2/x is skipped: an operator drained it',
    ),
  );
  assert.equal((await send()).headers.get('x-service-provider'), 'up1');
  const [row] = (await installation.json('route', 'drained')).rows;
  assert.deepEqual([row.model, row.candidate, row.by, row.reason], ['a/b', 'up2/x', systemUser, '새 장비']);
  const health = (await installation.json('route', 'health')).rows;
  assert.deepEqual(
    health.map((each) => [each.candidate, each.drained_for]),
    [
      ['up1/x', []],
      ['up2/x', ['a/b']],
    ],
  );
  const resume = ['route', 'resume', 'a/b', 'up2/x', '--reason', 'done'] as const;
  assert.equal((await installation.run(...resume)).out, 'up2/x of a/b takes requests again\n');
  assert.equal((await installation.run(...resume)).out, 'up2/x of a/b was not drained: it takes requests\n');
  const [again] = (await installation.json(...resume)).rows;
  assert.deepEqual([again.drained, again.repeated], [false, true]);
  assert.match((await installation.run(...drain)).out, /^already done: .* it takes requests now$/m);
  for (const [args, message] of [
    [['a/b', 'up9/x', '--reason', 'x'], /a\/b has no candidate up9\/x; naru models list/],
    [['a/b', 'up1/x', '--reason', 'x', '--idempotency-key', 'd1'], /key d1 was already used/],
  ] as const) {
    const refused = await installation.run('route', 'drain', ...args);
    assert.equal(refused.code, 1);
    assert.match(refused.err, message);
  }
  assert.equal((await installation.run('route', 'drain', 'a/b', 'up1/x')).code, 2, 'a reason is required');
  assert.deepEqual((await installation.json('route', 'drained')).rows, []);
  const { rows } = await installation.json('audit');
  assert.deepEqual(
    rows.filter((act) => act.act.startsWith('candidate.')).map((act) => act.act),
    ['candidate.resume', 'candidate.drain'],
  );
});
