/** The liability page: what is outstanding agrees with the balances, whatever the lots were charged with. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { krwOfMicro } from '../../src/money/krw.ts';
import { startTestGateway, type TestGateway } from '../harness/gateway.ts';
import { tamper } from '../harness/ledger-guards.ts';
import { PageBrowser, TestSessions } from '../harness/pages.ts';
import { startUpstream, type Upstream } from '../harness/upstream.ts';

const sessions = new TestSessions();
const dayMs = 86_400_000;
let upstream: Upstream;
let gateway: TestGateway;
let viewer: PageBrowser;

before(async () => {
  upstream = await startUpstream();
  gateway = await startTestGateway({
    sessions,
    models: [{ id: 'a/b', upstreams: [upstream.url] }],
    config: { liability: { outstanding_krw: 1_000, issued_krw: 2_000 } },
  });
  viewer = new PageBrowser(
    `http://127.0.0.1:${gateway.gateway.admin.port}`,
    'console',
    sessions.operator('viewer'),
  );
});
after(async () => {
  await gateway?.close();
  await upstream?.close();
});

const grant = (accountId: number, kind: 'topup' | 'bonus', won: bigint, days: number | null = null) =>
  gateway.operator.grantCredit({
    accountId,
    kind,
    amount: krwOfMicro(won * 1_000_000n),
    expiresAtMs: days === null ? null : gateway.clock.now() + days * dayMs,
    idempotencyKey: null,
    memo: null,
  });

// pages:A9
test('outstanding credit less debt is the sum of all balances, split by kind, age and expiry', async () => {
  const first = await gateway.account({ credit: '0' });
  await grant(first.accountId, 'topup', 600n);
  await grant(first.accountId, 'bonus', 50n, 5);
  await grant(first.accountId, 'bonus', 500n, 0.5);
  await grant(first.accountId, 'bonus', 7n, 20);
  const response = await gateway.send('POST', '/chat/completions', {
    key: first.key,
    body: { model: 'a/b', messages: [{ role: 'user', content: 'hello' }] },
  });
  assert.equal(response.status, 200);
  await gateway.settled();
  const second = await gateway.account({ credit: '0' });
  await gateway.operator.adjustCredit({
    accountId: second.accountId,
    amount: krwOfMicro(-30_000_000n),
    reason: 'owed',
    idempotencyKey: null,
  });
  const shown = await viewer.get('/liability');
  const paid = BigInt(shown.outstanding.paid_micro);
  const bonus = BigInt(shown.outstanding.bonus_micro);
  const accounts = await gateway.operator.readAccounts();
  const balances = accounts.reduce((sum, { credits, usage }) => sum + credits - usage, 0n);
  assert.equal(paid + bonus - BigInt(shown.debt_micro), balances);
  assert.equal(shown.debt_micro, '30000000');
  // The usage was charged to what expires first.
  const [used = 0n] = accounts
    .filter(({ accountId }) => accountId === first.accountId)
    .map(({ usage }) => usage);
  assert.ok(used > 0n && used < 500_000_000n);
  assert.equal(paid, 600_000_000n);
  assert.deepEqual(
    shown.expiring.map((row: { days: number; bonus_micro: string; lots: number }) => [
      row.days,
      row.bonus_micro,
      row.lots,
    ]),
    [
      [1, String(500_000_000n - used), 1],
      [7, String(550_000_000n - used), 2],
      [30, String(557_000_000n - used), 3],
    ],
  );
  assert.equal(shown.ages[0].paid_micro, '600000000');
  assert.deepEqual(
    [shown.issued.paid_micro, shown.issued.bonus_micro],
    ['600000000', '557000000'],
    'what is used or owed does not change what was issued',
  );
  assert.deepEqual(shown.thresholds, { outstanding_micro: '1000000000', issued_micro: '2000000000' });
  assert.deepEqual(
    (await viewer.get('/liability/expiring')).items.map((lot: { account_id: number }) => lot.account_id),
    [first.accountId, first.accountId, first.accountId],
  );
  // Later, the same credit is old, and what was issued is out of the year.
  await tamper(
    gateway.database,
    'UPDATE credit_lot SET granted_at = to_timestamp($2) WHERE account_id = $1',
    [first.accountId, gateway.clock.now() / 1000 - 400 * 86_400],
  );
  const later = await viewer.get('/liability');
  assert.equal(later.ages.at(-1).paid_micro, '600000000');
  assert.equal(later.ages[0].paid_micro, '0');
  assert.equal(later.issued.paid_micro, '0');
});
