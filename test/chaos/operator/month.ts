import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { shiftDatabaseClock } from '../../harness/database-clock.ts';
import { until } from '../../harness/until.ts';
import { reply } from '../../harness/upstream.ts';
import { commandsOf } from './pages.ts';
import { signInAsOwner } from './start.ts';
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
  const before = await trial.balance();
  await trial.step('docs/tasks.md#top-up-an-account', {
    check: async () => {
      assert.equal((await trial.balance()) - before, 30_000);
      return 'the balance rose by 30,000 won';
    },
  });
}

async function keyHash(trial: Trial): Promise<string> {
  const keys = await trial.first.rows('naru key list --account 2');
  return String(keys.find(({ name }) => name === 'app')?.hash);
}

async function changeLimit(trial: Trial): Promise<void> {
  await trial.step('docs/tasks.md#change-a-limit', {
    words: { KEY: (await keyHash(trial)).slice(0, 8) },
    check: async () => {
      const response = await fetch(`${site}/api/v1/key`, {
        headers: { authorization: `Bearer ${trial.calls.key}` },
      });
      const { data } = (await response.json()) as { data: { limit: number } };
      assert.equal(data.limit, 20_000);
      return 'the key has the new limit a second later';
    },
  });
}

async function refund(trial: Trial): Promise<void> {
  const before = await trial.balance();
  await trial.step('docs/tasks.md#refund-a-request', {
    words: { GENERATION: trial.calls.seen.lastId },
    check: async (printed) => {
      const refunded = (await trial.balance()) - before;
      assert.ok(refunded > 0, String(refunded));
      assert.match(printed[0]?.out ?? '', /cost/);
      return `${refunded.toFixed(6)} won are back, the charge stays`;
    },
  });
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
