import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { isoDay, seoulDayAt } from '../../src/time/period.ts';
import { byTier } from '../harness/tier.ts';
import { eventually } from '../harness/until.ts';
import { reply, startUpstream, type Upstream } from '../harness/upstream.ts';
import { createInstallation, type Installation, type Serving, systemUser } from './naru.ts';

/* Commands beside a server that runs (spec:operator/1.2). */

let upstream: Upstream;
let installation: Installation;
let serving: Serving;
let config: string;

before(async () => {
  upstream = await startUpstream();
  upstream.always(reply.chat('네', { usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } }));
  installation = createInstallation({ hasCluster: true });
  const price = { prompt: 1, completion: 2, currency: 'KRW', per: 'token', confirm: true };
  config = installation.configure({
    providers: [
      { slug: 'up', name: 'Up', dialect: 'openai', base_url: upstream.url, api_key: 'provider-key' },
    ],
    models: [
      {
        id: 'test/echo',
        name: 'Echo',
        context_length: 4096,
        price,
        candidates: [{ provider: 'up', model: 'echo' }],
      },
    ],
  });
  serving = await installation.up('--config', config);
});
after(async () => {
  await serving?.stop();
  await upstream?.close();
  installation?.remove();
});

async function send(key: string): Promise<{ status: number; type: string | undefined }> {
  const response = await fetch(`${serving.origin}/api/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'test/echo', messages: [{ role: 'user', content: '안녕' }] }),
  });
  const body = (await response.json()) as { error?: { metadata?: { error_type?: string } } };
  return { status: response.status, type: body.error?.metadata?.error_type };
}

/** The response becomes `status` within the second of spec:operator/1.2. */
async function becomes(key: string, status: number): Promise<string> {
  return eventually(`status ${status}`, 1_000, async () => {
    const response = await send(key);
    return response.status === status ? (response.type ?? 'none') : null;
  });
}

/** The dashboard of an account, opened with a management key. */
async function dashboardOf(account: number) {
  const named = ['--account', String(account), '--kind', 'management', '--name', 'pages'];
  const [{ key }] = (await installation.json('key', 'create', ...named)).rows;
  const post = (path: string, body: object, headers: Record<string, string> = {}) =>
    fetch(`${serving.origin}/dashboard/api${path}`, {
      method: 'POST',
      headers: {
        origin: serving.origin,
        'content-type': 'application/json',
        'idempotency-key': randomUUID(),
        ...headers,
      },
      body: JSON.stringify(body),
    });
  const signedIn = await post('/sign-in/key', { key });
  const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? assert.fail(await signedIn.text());
  return {
    async requestTopup(won: string): Promise<number> {
      const response = await post('/topups', { amount_micro: `${won}000000` }, { cookie });
      assert.equal(response.status, 200);
      return ((await response.json()) as { id: number }).id;
    },
  };
}

async function newKey(credit: string | null): Promise<{ account: number; hash: string; key: string }> {
  const account = (await installation.json('account', 'create', '--name', '홍길동')).rows[0].account_id;
  if (credit !== null)
    await installation.json('credit', 'grant', '--account', String(account), '--amount', credit);
  const created = await installation.json('key', 'create', '--account', String(account), '--name', 'laptop');
  return { account, hash: created.rows[0].hash, key: created.rows[0].key };
}

test('the first start prints a command that works unchanged', async () => {
  const [line] = serving.out().match(/^curl .*$/m) ?? [];
  assert.ok(line, serving.out());
  assert.match(line, /"model":"test\/echo"/);
  assert.match(serving.out(), /management key +sk-naru-mgmt-v1-[0-9a-f]{64}/);
  const key = /Bearer (sk-naru-v1-[0-9a-f]{64})/.exec(line)?.[1] ?? '';
  assert.deepEqual(await send(key), { status: 200, type: undefined });
});

test('a new account, its credit and its key work at once', async () => {
  const { key, account } = await newKey('100');
  assert.equal((await send(key)).status, 200);
  const shown = await eventually('the charge', 2_000, async () => {
    const [row] = (await installation.json('account', 'show', String(account))).rows;
    return row.balance_krw === '80.000000' ? row : null;
  });
  assert.equal(shown.total_credits_krw, '100.000000');
  assert.equal(shown.total_usage_krw, '20.000000');
});

test('a suspended key is rejected within a second, and works again when the suspension is lifted', async () => {
  const { key, hash } = await newKey('1000');
  await becomes(key, 200);
  const suspended = await installation.json('key', 'suspend', hash, '--reason', '결제 확인');
  assert.equal(suspended.rows[0].state, 'suspended_by_admin');
  assert.equal(await becomes(key, 403), 'key_suspended');
  const lifted = await installation.json('key', 'unsuspend', hash);
  assert.equal(lifted.rows[0].state, 'active');
  await becomes(key, 200);
});

test('a revoked key is rejected within a second and permanently, and is still shown', async () => {
  const { key, hash } = await newKey('1000');
  await becomes(key, 200);
  assert.equal((await installation.json('key', 'revoke', hash)).rows[0].state, 'revoked');
  assert.equal(await becomes(key, 401), 'invalid_api_key');
  assert.equal((await installation.json('key', 'revoke', hash)).code, 0);
  assert.equal((await installation.json('key', 'unsuspend', hash)).rows[0].state, 'revoked');
  assert.equal((await installation.json('key', 'show', hash)).rows[0].state, 'revoked');
});

// spec:conformance/59 spec:api/8.1
test('a key without credit is shown as suspended and disabled by the command, and as neither by command and API after a top-up', async () => {
  const { account, key, hash } = await newKey('20');
  const [{ key: management }] = (
    await installation.json(
      'key',
      'create',
      '--account',
      String(account),
      '--name',
      'm',
      '--kind',
      'management',
    )
  ).rows;
  assert.equal((await send(key)).status, 200);
  assert.equal((await send(key)).type, 'insufficient_credits');
  const shown = async () => {
    const [row] = (await installation.json('key', 'show', hash)).rows;
    return `${row.state} ${row.disabled}`;
  };
  const listed = async (...states: string[]) => {
    const { rows } = await installation.json(
      'key',
      'list',
      '--account',
      String(account),
      '--state',
      ...states,
    );
    return rows.map((row) => `${row.name} ${row.state} ${row.disabled}`);
  };
  await eventually('the charge', 2_000, async () =>
    (await shown()) === 'suspended_no_credit true' ? true : null,
  );
  assert.deepEqual(await listed('suspended_no_credit'), [
    'm suspended_no_credit true',
    'laptop suspended_no_credit true',
  ]);
  assert.deepEqual(await listed('active', 'revoked'), []);
  await installation.json('credit', 'grant', '--account', String(account), '--amount', '1000');
  assert.equal(await shown(), 'active false');
  assert.deepEqual(await listed('active', 'revoked'), ['m active false', 'laptop active false']);
  await becomes(key, 200);
  const response = await fetch(`${serving.origin}/api/v1/keys`, {
    headers: { authorization: `Bearer ${management}` },
  });
  const { data } = (await response.json()) as { data: readonly { name: string; disabled: boolean }[] };
  assert.deepEqual(
    data.map(({ name, disabled }) => [name, disabled]),
    [
      ['m', false],
      ['laptop', false],
    ],
  );
});

test('an account without credit is served within a second of a grant', async () => {
  const { key, account } = await newKey(null);
  assert.equal(await becomes(key, 402), 'insufficient_credits');
  await installation.json('credit', 'grant', '--account', String(account), '--amount', '0.5');
  await becomes(key, 200);
});

test('a suspended account is rejected within a second with all its keys, and works again when resumed', async () => {
  const { account, key } = await newKey('1000');
  await becomes(key, 200);
  const change = (verb: string) => installation.json('account', verb, String(account), '--reason', 'unpaid');
  assert.deepEqual((await change('suspend')).rows[0], {
    account_id: account,
    suspended: true,
    repeated: false,
  });
  assert.equal(await becomes(key, 403), 'key_suspended');
  assert.equal((await change('suspend')).rows[0].repeated, true);
  const [shown] = (await installation.json('account', 'show', String(account))).rows;
  assert.match(shown.suspended_at, /^\d{4}-/);
  assert.equal((await change('resume')).rows[0].suspended, false);
  await becomes(key, 200);
  assert.match((await installation.run('account', 'suspend', '999', '--reason', 'x')).err, /no account 999/);
});

// pages:A8
test('a requested top-up is listed, confirmed once, and another one rejected with a reason', async () => {
  const { account, key } = await newKey(null);
  const owner = await dashboardOf(account);
  const [first, second] = [await owner.requestTopup('7000'), await owner.requestTopup('1')];
  assert.equal((await send(key)).status, 402);
  const listed = await installation.json('topup', 'list', '--account', String(account));
  assert.deepEqual(
    listed.rows.map(({ id, amount_krw, state }) => [id, amount_krw, state]),
    [
      [second, '1.000000', 'pending'],
      [first, '7000.000000', 'pending'],
    ],
  );
  const confirm = () => installation.json('topup', 'confirm', String(first), '--bank-reference', 'B-1');
  const [confirmed] = (await confirm()).rows;
  assert.deepEqual([confirmed.state, confirmed.repeated], ['confirmed', false]);
  await becomes(key, 200);
  const [repeated] = (await confirm()).rows;
  assert.deepEqual([repeated.entry_id, repeated.repeated], [confirmed.entry_id, true]);
  const used = await installation.run('topup', 'confirm', String(second), '--bank-reference', 'B-1');
  assert.deepEqual(
    [used.code, used.err],
    [1, 'naru: this bank reference already confirmed another request\n'],
  );
  const [rejected] = (await installation.json('topup', 'reject', String(second), '--reason', '입금 없음'))
    .rows;
  assert.deepEqual(
    [rejected.state, rejected.reason, rejected.decided_by],
    ['rejected', '입금 없음', systemUser],
  );
  const late = await installation.run('topup', 'confirm', String(second));
  assert.deepEqual([late.code, late.err], [1, `naru: request ${second} is already rejected\n`]);
  assert.match(
    (await installation.run('topup', 'reject', '999', '--reason', 'x')).err,
    /no top-up request 999/,
  );
});

test('one idempotency key grants once; another amount is rejected', async () => {
  const { account } = await newKey(null);
  const grant = ['credit', 'grant', '--account', String(account), '--idempotency-key', `pay-${account}`];
  const first = await installation.json(...grant, '--amount', '500');
  const second = await installation.json(...grant, '--amount', '500');
  assert.equal(first.rows[0].repeated, false);
  assert.deepEqual(second.rows[0], { ...first.rows[0], repeated: true });
  const other = await installation.json(...grant, '--amount', '501');
  assert.equal(other.code, 1);
  assert.match(other.err, /was already used for another/);
  assert.equal(
    (await installation.json('account', 'show', String(account))).rows[0].balance_krw,
    '500.000000',
  );
});

test("amounts are exact from one micro-won to the ledger's maximum", async () => {
  const { account } = await newKey(null);
  const grant = ['credit', 'grant', '--account', String(account), '--amount'];
  assert.equal((await installation.json(...grant, '0.000001')).rows[0].amount_krw, '0.000001');
  assert.equal(
    (await installation.json(...grant, '9223372036854.775806')).rows[0].amount_krw,
    '9223372036854.775806',
  );
  const [row] = (await installation.json('account', 'show', String(account))).rows;
  assert.equal(row.balance_krw, '9223372036854.775807');
  const beyond = await installation.json(...grant, '0.000001');
  assert.equal(beyond.code, 1);
  assert.match(beyond.err, /^naru: the sum would exceed the largest amount.*\n$/);
});

test('a bonus with an expiry leaves the balance at its expiry', async () => {
  const { account } = await newKey('100');
  const soon = new Date(Date.now() + 1_500).toISOString();
  const bonus = ['--amount', '50', '--kind', 'bonus', '--expires-at', soon];
  const granted = await installation.json('credit', 'grant', '--account', String(account), ...bonus);
  assert.equal(granted.rows[0].kind, 'bonus');
  await sleep(Date.parse(soon) - Date.now());
  await eventually('the expiry', 10_000, async () => {
    const [row] = (await installation.json('account', 'show', String(account))).rows;
    return row.balance_krw === '100.000000' ? row : null;
  });
  const entries = (await installation.json('ledger', 'export', '--account', String(account))).rows;
  const amounts = entries.map((entry) => entry.amount_krw);
  assert.deepEqual(amounts, ['100.000000', '50.000000', '-50.000000']);
});

test('keys are listed newest first with their limits and their spend', async () => {
  const { account, hash, key } = await newKey('1000');
  const order = ['--name', 'second', '--limit', '12.5', '--limit-reset', 'daily'];
  const expiry = ['--expires-at', '2030-01-01T00:00:00+09:00'];
  await installation.json('key', 'create', '--account', String(account), ...order, ...expiry);
  assert.equal((await send(key)).status, 200);
  const rows = await eventually('the spend', 2_000, async () => {
    const listed = (await installation.json('key', 'list', '--account', String(account))).rows;
    return listed[1]?.usage_krw === '20.000000' ? listed : null;
  });
  assert.equal(rows.length, 2);
  assert.equal(rows[0].limit_krw, '12.500000');
  assert.equal(rows[0].limit_reset, 'daily');
  assert.equal(rows[0].expires_at, '2029-12-31T15:00:00.000Z');
  assert.equal(rows[1].hash, hash);
});

test('the ledger and the generations are exported one object a line, and their totals agree', async () => {
  const { account, key } = await newKey('1000');
  assert.equal((await send(key)).status, 200);
  const entries = await eventually('the entry', 2_000, async () => {
    const { rows } = await installation.json('ledger', 'export', '--account', String(account));
    return rows.length === 2 ? rows : null;
  });
  const charge = entries[1];
  assert.equal(charge.account_id, account);
  assert.equal(charge.amount_krw, '-20.000000');
  assert.match(charge.generation_id, /^gen-/);
  assert.match(charge.created_at, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  const generations = (await installation.json('generation', 'export', '--account', String(account))).rows;
  assert.deepEqual(
    generations.map((row) => row.id),
    [charge.generation_id],
  );
  // spec:operator/1.22
  const today = isoDay(seoulDayAt(Date.parse(charge.created_at)));
  const before = isoDay(seoulDayAt(Date.parse(charge.created_at)) - 1);
  for (const command of [['ledger', 'export'], ['generation', 'export'], ['audit'], ['usage', 'export']]) {
    const of = (from: string, to: string) =>
      installation.run(...command, '--account', String(account), '--csv', '--from', from, '--to', to);
    const [some, none] = [await of(today, today), await of('2020-01-01', before)];
    assert.equal(some.code, 0, some.err);
    assert.match(some.out, /^\ufeff[a-z_]+,[a-z_,]+\r\n/);
    assert.ok(some.out.split('\r\n').length > 2, some.out);
    assert.equal(none.out, `${some.out.split('\r\n')[0]}\r\n`);
  }
  const turned = await installation.run('ledger', 'export', '--from', today, '--to', before);
  assert.deepEqual([turned.code, turned.out], [1, '']);
  assert.match(turned.err, /--to is before --from/);
  const number = await installation.json('account', 'business-number', String(account), '124-81-00998');
  assert.deepEqual(number.rows, [{ account_id: account, business_number: '1248100998' }]);
  const month = ['--month', today.slice(0, 7)];
  const [statement] = (await installation.json('usage', 'export', '--account', String(account), ...month))
    .rows;
  assert.deepEqual(
    [statement.business_number, statement.topups_krw, statement.usage_paid_krw, statement.change_krw],
    ['124-81-00998', '1000.000000', '20.000000', '980.000000'],
  );
  assert.deepEqual([statement.supply_value_krw, statement.vat_krw], ['18.000000', '2.000000']);
  const margin = (await installation.json('usage', 'margin', ...month)).rows;
  assert.deepEqual(
    margin.map(({ model, provider, margin_krw }) => [model, provider, margin_krw]),
    [['test/echo', 'Up', null]],
  );
  const verdict = await installation.json('ledger', 'verify');
  assert.equal(verdict.code, 0);
  assert.equal(verdict.rows.length, 1);
  assert.equal(verdict.rows[0].ok, true);
  assert.deepEqual(verdict.rows[0].differences, []);
});

// spec:money/7.10,3.11
test('a refund is given back to the limit of the key where the command says so, and total usage is shown in parts', async () => {
  const { account, key, hash } = await newKey('1000');
  assert.equal((await send(key)).status, 200);
  const charge = await eventually('the entry', 2_000, async () => {
    const { rows } = await installation.json('ledger', 'export', '--account', String(account));
    return rows[1] ?? null;
  });
  const usage = async () => (await installation.json('key', 'show', hash)).rows[0].usage_krw;
  assert.equal(await usage(), '20.000000');
  const refund = ['credit', 'refund', '--generation', charge.generation_id, '--reason', 'bad'];
  assert.equal((await installation.json(...refund, '--amount', '5')).code, 0);
  assert.equal(await usage(), '20.000000');
  const given = await installation.json(...refund, '--to-key-limit');
  assert.equal(given.rows[0].amount_krw, '15.000000');
  assert.equal(await usage(), '5.000000');
  await installation.json(
    'credit',
    'adjust',
    '--account',
    String(account),
    '--amount',
    '-7',
    '--reason',
    'x',
  );
  const [shown] = (await installation.json('account', 'show', String(account))).rows;
  assert.deepEqual(
    [shown.used_krw, shown.expired_krw, shown.deducted_krw, shown.total_usage_krw],
    ['20.000000', '0.000000', '7.000000', '27.000000'],
  );
  assert.equal((await installation.json('ledger', 'verify')).rows[0].ok, true);
});

test('the terminal gets columns, a program gets JSON, and neither gets the other', async () => {
  const people = await installation.run('account', 'list');
  assert.match(people.out, /^account_id\tname\t/);
  assert.equal(people.err, '');
  const programs = await installation.json('account', 'list');
  assert.equal(programs.err, '');
  assert.ok(programs.rows.length > 1);
});

test('the doctor finds no fault beside a running server', async () => {
  const { code, rows, err } = await installation.json('doctor');
  assert.equal(err, '');
  assert.deepEqual(
    rows.filter((row) => !row.ok),
    [],
  );
  assert.equal(code, 0);
  const database = rows.find((row) => row.check === 'database');
  assert.match(database.detail, /the embedded server: PostgreSQL \d+/);
});

test('concurrent commands all take effect', async () => {
  const { account } = await newKey(null);
  const count = byTier(2, 10);
  const grants = Array.from({ length: count }, () =>
    installation.json('credit', 'grant', '--account', String(account), '--amount', '1'),
  );
  assert.deepEqual(
    (await Promise.all(grants)).map(({ code }) => code),
    Array.from({ length: count }, () => 0),
  );
  assert.equal(
    (await installation.json('account', 'show', String(account))).rows[0].balance_krw,
    `${count}.000000`,
  );
});
