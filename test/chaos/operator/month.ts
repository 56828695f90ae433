import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { shiftDatabaseClock } from '../../harness/database-clock.ts';
import { until } from '../../harness/until.ts';
import { reply } from '../../harness/upstream.ts';
import { commandsOf } from './pages.ts';
import { signInAsOwner, signInAtProvider } from './start.ts';
import { site, type Trial } from './steps.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** Days of the month after this one; what happens on a day is in order. */
export async function liveThroughMonth(trial: Trial): Promise<void> {
  const { quick } = trial.parts;
  const beganMs = performance.now();
  const now = new Date(Date.now() + 9 * hourMs);
  const firstMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1) - 9 * hourMs;
  const afterMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 2, 1) - 9 * hourMs;
  const days = Math.round((afterMs - firstMs) / dayMs);
  const events = [
    () => topUp(trial),
    () => changeLimit(trial),
    () => refund(trial),
    () => pay(trial),
    () => erase(trial),
    () => outage(trial),
    () => loseMachine(trial),
    () => leave(trial),
  ];
  trial.beforeMonthMicro = trial.calls.seen.costMicro;
  const step = quick ? Math.floor(days / events.length) : 1;
  for (let day = 0, next = 0; day < days; day += step) {
    await moveClock(trial, firstMs + day * dayMs + 10 * hourMs);
    await trial.calls.call(quick ? 8 : 20);
    if (day >= (next * days) / events.length) await events[next++]?.();
  }
  await moveClock(trial, afterMs + 9 * hourMs);
  const { complete, failed, fromProvider } = trial.calls.seen;
  trial.note(
    'a month of traffic',
    beganMs,
    `${complete} calls, ${fromProvider} of the provider, ${failed} failed with a lost machine`,
  );
}

/** Moves the clock of the database, which is that of the whole installation. */
async function moveClock(trial: Trial, toMs: number): Promise<void> {
  trial.clockMs = toMs;
  const aheadS = Math.round((toMs - Date.now()) / 1_000);
  await shiftDatabaseClock(trial.parts.postgres.address, `+ interval '${aheadS} seconds'`);
  for (const machine of trial.parts.machines)
    await until(
      'the servers follow the clock of the database',
      async () => Math.abs((await machine.metric('naru_clock_ahead_seconds')) + aheadS) < 5,
      60_000,
    );
  await until(
    'calls succeed',
    async () =>
      (await fetch(`${site}/api/v1/key`, { headers: { authorization: `Bearer ${trial.calls.key}` } }))
        .status === 200,
  );
}

async function topUp(trial: Trial): Promise<void> {
  const before = await trial.balanceMicro();
  await trial.step('docs/tasks.md#top-up-an-account', {
    check: async () => {
      assert.equal((await trial.balanceMicro()) - before, 30_000_000_000n);
      return 'the balance rose by 30,000 won';
    },
  });
}

async function keyHash(trial: Trial): Promise<string> {
  const keys = await trial.first.rows('naru key list --account 2');
  return String(keys.find(({ name }) => name === 'app')?.hash);
}

/** What the key says of itself. */
async function ownKey(trial: Trial): Promise<{ readonly limit: number; readonly usage: number }> {
  const headers = { authorization: `Bearer ${trial.calls.key}` };
  const response = await fetch(`${site}/api/v1/key`, { headers });
  return ((await response.json()) as { data: { limit: number; usage: number } }).data;
}

async function changeLimit(trial: Trial): Promise<void> {
  await trial.step('docs/tasks.md#change-a-limit', {
    words: { KEY: (await keyHash(trial)).slice(0, 8) },
    check: async () => {
      assert.equal((await ownKey(trial)).limit, 20_000);
      return 'the key has the new limit a second later';
    },
  });
}

async function refund(trial: Trial): Promise<void> {
  const { seen } = trial.calls;
  const before = await trial.balanceMicro();
  await trial.step('docs/tasks.md#refund-a-request', {
    words: { GENERATION: seen.lastId },
    check: async (printed) => {
      const refunded = (await trial.balanceMicro()) - before;
      assert.ok(refunded > 0n, String(refunded));
      assert.match(printed[0]?.out ?? '', /cost/);
      return `${Number(refunded) / 1e6} won are back, the charge stays`;
    },
  });
  const beganMs = performance.now();
  const { usage } = await ownKey(trial);
  const earlier = seen.costMicro;
  await trial.calls.call(1);
  await trial.first.run(
    `naru credit refund --generation ${seen.lastId} --reason repeated --idempotency-key refund-2 --to-key-limit`,
  );
  await until('the key may spend it again', async () => Math.abs((await ownKey(trial)).usage - usage) < 1e-6);
  trial.note(
    'a refund to the limit',
    beganMs,
    `${Number(seen.costMicro - earlier) / 1e6} won are back, and the key may spend them`,
  );
}

/** The owner pays by card, the provider reports it twice, and an operator of its groups returns a part. */
async function pay(trial: Trial): Promise<void> {
  const { toss } = trial.parts;
  const beganMs = performance.now();
  const before = await trial.balanceMicro();
  const owner = await signInAtProvider(trial, 'dashboard', 's1|owner@example.com|true');
  const ordered = await owner.send('POST', '/dashboard/api/payments', { amount_micro: '10000000000' });
  const { orderId, ...returned } = toss.approve(JSON.parse(ordered.text).checkout_url);
  const report = async (): Promise<number> =>
    (
      await fetch(`${site}/webhooks/payments`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(toss.webhook(orderId)),
      })
    ).status;
  const paid = await owner.send('POST', `/dashboard/api/payments/${orderId}/complete`, returned);
  assert.equal(JSON.parse(paid.text).state, 'paid', paid.text);
  assert.deepEqual([await report(), await report()], [200, 200]);
  assert.equal((await trial.balanceMicro()) - before, 10_000_000_000n);
  const finance = await signInAtProvider(trial, 'console', 's8|finance@example.com|true|finance');
  const cancel = { amount_micro: '4000000000', reason: 'ordered too much' };
  const canceled = await finance.send('POST', `/console/api/payments/${orderId}/cancel`, cancel);
  assert.equal(canceled.status, 200, canceled.text);
  assert.deepEqual([await report(), await report()], [200, 200]);
  assert.equal((await trial.balanceMicro()) - before, 6_000_000_000n);
  await assert.rejects(signInAtProvider(trial, 'console', 's9|other@example.com|true|sales'), /refused=/);
  trial.note(
    'a payment by card',
    beganMs,
    '10,000 won once, 4,000 returned by an operator whom a group of the provider lets in',
  );
}

/** A customer closes the account, and its person is erased. */
async function erase(trial: Trial): Promise<void> {
  const email = 'customer@example.com';
  const [made] = await trial.first.rows(`naru account create --name 김고객 --email ${email}`);
  const of = Number(made.account_id);
  const invited = await trial.first.run(`naru account invite --account ${of} --email ${email}`);
  await signInAsOwner(trial, invited.out, email, 's3');
  const beganMs = performance.now();
  await trial.first.run(`naru account close ${of} --reason '${email} asked'`);
  const shown = await trial.first.run(`naru account erase-person ${of}`);
  assert.match(shown.err, /nothing was erased/);
  await trial.first.run(`naru account erase-person ${of} --yes`);
  for (const list of ['account list', 'audit', 'session list'])
    assert.doesNotMatch(JSON.stringify(await trial.first.rows(`naru ${list}`)), /customer@example|김고객/);
  trial.note('erase a person', beganMs, 'no list and no act has the name or the address');
}

async function outage(trial: Trial): Promise<void> {
  const { upstream } = trial.parts;
  const failedBefore = trial.calls.seen.failed;
  upstream.always(reply.status(503));
  await trial.calls.call(9);
  const { length } = upstream.requests;
  const commands = commandsOf('docs/tasks.md#outage-of-a-provider');
  const resume = commands.find((command) => command.startsWith('naru route resume')) ?? '';
  await trial.step('docs/tasks.md#outage-of-a-provider', {
    without: /route resume/,
    check: async () => {
      const drainedAt = upstream.requests.length;
      await trial.calls.call(9);
      assert.equal(upstream.requests.length, drainedAt);
      assert.ok(length > 0);
      return 'the own engine responded to all calls, the drained provider gets none';
    },
  });
  upstream.respond(() => reply.chat('Hello from upstream.'));
  await trial.first.run(resume);
  trial.ran.add(resume);
  await until(
    'the provider responds again',
    async () => {
      const { fromProvider } = trial.calls.seen;
      await trial.calls.call(1);
      return trial.calls.seen.fromProvider > fromProvider;
    },
    60_000,
  );
  assert.equal(trial.calls.seen.failed, failedBefore, trial.calls.seen.lastFailure);
}

async function loseMachine(trial: Trial): Promise<void> {
  const beganMs = performance.now();
  const load = trial.calls.call(20);
  await trial.second.loseUnit();
  await load;
  const { failed } = trial.calls.seen;
  await trial.calls.call(10);
  assert.equal(trial.calls.seen.failed, failed, trial.calls.seen.lastFailure);
  await trial.second.run('systemctl start naru.socket naru.service');
  // `naru node list` compares with now(), which the shifted clock leaves alone.
  await trial.calls.call(10);
  assert.equal(trial.calls.seen.failed, failed, trial.calls.seen.lastFailure);
  trial.note(
    'docs/lost-nodes.md',
    beganMs,
    `a machine killed under load and started again: ${failed} of its calls failed, none afterwards`,
  );
}

async function leave(trial: Trial): Promise<void> {
  const { KEY, next } = {
    KEY: await keyHash(trial),
    next: await trial.first.rows('naru key create --account 2 --name successor'),
  };
  let link = '';
  await trial.step('docs/tasks.md#when-somebody-leaves', {
    words: { KEY: KEY.slice(0, 8) },
    check: async (printed) => {
      link = printed.find(({ command }) => command.includes('replace-person'))?.out ?? '';
      const old = await fetch(`${site}/api/v1/key`, {
        headers: { authorization: `Bearer ${trial.calls.key}` },
      });
      assert.equal(old.status, 401);
      assert.ok(printed.some(({ command, out }) => command === 'naru audit' && out.includes('박지원')));
      const operators = await trial.first.rows('naru operator list');
      assert.ok(!operators.some(({ name }) => name === '박지원'));
      return 'the operator is gone, its audit log stays, the key of the former owner is refused';
    },
  });
  trial.calls.key = String(next[0]?.key);
  await signInAsOwner(trial, link, 'successor@example.com', 's2');
}

/** The sums of the month, against what the clients saw. */
export async function endMonth(trial: Trial): Promise<void> {
  const month = new Date(trial.clockMs - 2 * dayMs).toISOString().slice(0, 7);
  await trial.step('docs/tasks.md#month-end', {
    words: { '2026-12': month },
    check: async () => {
      const csv = readFileSync(trial.first.path(`/var/tmp/naru-${month}.csv`), 'utf8');
      assert.match(csv, /124-81-00998/);
      const rows = await trial.first.rows(`naru usage export --month ${month}`);
      const row = rows.find(({ account_id }) => account_id === 2);
      const seen = Number(trial.calls.seen.costMicro - trial.beforeMonthMicro) / 1e6;
      // A response that a lost machine had completed is charged although its client may not have it.
      assert.ok(
        row.usage_krw - seen > -1e-6 && row.usage_krw - seen < trial.calls.seen.failed + 1e-6,
        JSON.stringify(row),
      );
      // An invoice has whole won.
      const invoiced = Number(row.supply_value_krw) + Number(row.vat_krw);
      assert.equal(invoiced, Math.round(Number(row.taxable_krw)), JSON.stringify(row));
      assert.ok(row.refunds_krw > 0);
      return `usage ${row.usage_krw}, supply value ${row.supply_value_krw}, VAT ${row.vat_krw} won`;
    },
  });
  const beganMs = performance.now();
  await trial.assertLedger();
  trial.note(
    'ledger verify',
    beganMs,
    `what clients saw, ${Number(trial.calls.seen.costMicro) / 1e6} won, is what the ledger charged`,
  );
}
