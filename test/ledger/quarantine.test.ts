import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { respondToFlush } from '../../src/app/apply-changes.ts';
import type { CliContext } from '../../src/cli/context.ts';
import { runCli } from '../../src/cli/program.ts';
import { Journal, type Ticket } from '../../src/ledger/journal/journal.ts';
import {
  decodeFinal,
  encodeFinal,
  encodeOpen,
  finalType,
  openType,
} from '../../src/ledger/journal-records.ts';
import { Quarantine, retryQuarantined, writeOffQuarantined } from '../../src/ledger/quarantine.ts';
import { listQuarantined, storeQuarantined } from '../../src/ledger/quarantine-sql.ts';
import { silentLog } from '../../src/log/log.ts';
import { readFlush, requestFlush } from '../../src/nodes/flush-sql.ts';
import { systemClock } from '../../src/time/clock.ts';
import { type GenerationUuid, generationIdOf } from '../../src/wire/ids/generation-id.ts';
import { createInstallation } from '../cli/naru.ts';
import { urlOf } from '../harness/database.ts';
import { startTestGateway, type TestGateway } from '../harness/gateway.ts';
import { tamper } from '../harness/ledger-guards.ts';
import { until } from '../harness/until.ts';
import { startUpstream } from '../harness/upstream.ts';
import { openLedger } from './world.ts';

/*
 * A settlement that the database rejects is a row, a metric, a line of the verification, and an
 * operator's decision.
 */

const request = { model: 'test/echo', messages: [{ role: 'user', content: 'hello' }] };
const taste =
  "ALTER TABLE generation ADD CONSTRAINT taste CHECK (detail->>'title' IS DISTINCT FROM 'poison')";
const closed = 'ALTER TABLE quarantined_settlement ADD CONSTRAINT closed CHECK (false) NOT VALID';
const conflictOnce = [
  'CREATE SEQUENCE tries',
  `CREATE FUNCTION conflict_once() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF nextval('tries') = 1 THEN RAISE EXCEPTION 'a conflict' USING ERRCODE = '40001'; END IF;
  RETURN new;
END $$`,
  'CREATE TRIGGER conflict BEFORE INSERT ON quarantined_settlement FOR EACH ROW EXECUTE FUNCTION conflict_once()',
];

/** A gateway with one completed response and its settlement rejected. */
async function refused(t: TestContext, { isClosed = false } = {}) {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const naru = await startTestGateway({ models: [{ id: 'test/echo', upstreams: [upstream.url] }] });
  t.after(() => naru.close());
  await naru.database.query(taste);
  if (isClosed) await naru.database.query(closed);
  const account = await naru.account();
  const response = await naru.send('POST', '/chat/completions', {
    key: account.key,
    body: request,
    headers: { 'x-title': 'poison' },
  });
  assert.equal(response.status, 200);
  await naru.settled();
  return { naru, ...account, id: response.json.id as string };
}

/** Runs `naru ledger …` on the database of a gateway. */
async function ledger(naru: TestGateway, ...words: readonly string[]) {
  const output = { out: '', err: '' };
  const shell = {
    out: async (text: string) => {
      output.out += text;
    },
    err: (text: string) => {
      output.err += text;
    },
    version: '0',
    user: 'tests@host',
    openOperatorService: async () => naru.operator,
  } as unknown as CliContext;
  const code = await runCli(shell, ['ledger', ...words, '--json']);
  const rows = output.out.split('\n').filter(Boolean);
  return { code, err: output.err, rows: rows.map((line) => JSON.parse(line)) };
}

/** What `naru doctor` reports of the quarantine; undefined when it does not mention it. */
async function doctorLine(t: TestContext, { database }: TestGateway): Promise<string | undefined> {
  const installation = createInstallation();
  t.after(() => installation.remove());
  const file = installation.configure({ database: { url: urlOf(database.address) }, models: [] });
  const { rows } = await installation.json('doctor', '--config', file);
  return rows.find(({ check }) => check === 'quarantine')?.detail;
}

const usedOf = async (naru: TestGateway, key: string): Promise<number> =>
  (await naru.send('GET', '/credits', { key })).json.data.total_usage;

const metricOf = (naru: TestGateway): Promise<number> => naru.metric('naru_quarantined_settlements');

const stored = (naru: TestGateway) =>
  until('it is stored', async () => (await listQuarantined(naru.database)).length === 1);

test('a rejected settlement is listed, counted and found by the verification, and is settled once possible', async (t) => {
  const { naru, key, id } = await refused(t);
  await stored(naru);
  await until('its segment has gone from the journal', () => naru.gateway.settlements.unstored === 0);
  const [row] = (await ledger(naru, 'quarantine')).rows;
  assert.deepEqual([row.generation_id, row.cost_krw, row.attempts, row.state], [id, '20.000000', 1, 'waits']);
  assert.match(row.reason, /taste/);
  const verdict = await ledger(naru, 'verify');
  assert.equal(verdict.code, 1);
  assert.deepEqual(
    verdict.rows[0].differences.map(({ check }: { check: string }) => /refused/.test(check)),
    [true],
  );
  await until('the metric shows it', async () => (await metricOf(naru)) === 1);
  assert.match((await doctorLine(t, naru)) ?? '', /rejected 1 settlement: run naru ledger quarantine/);
  const again = await ledger(naru, 'retry');
  assert.deepEqual([again.code, again.rows[0].settled], [1, false]);
  assert.equal((await ledger(naru, 'quarantine')).rows[0].attempts, 2);
  assert.equal(await usedOf(naru, key), 0);

  await naru.database.query('ALTER TABLE generation DROP CONSTRAINT taste');
  const settled = await ledger(naru, 'retry', '--generation', id);
  assert.deepEqual([settled.code, settled.rows[0].settled], [0, true]);
  await until('the server knows', async () => (await usedOf(naru, key)) === 20);
  assert.deepEqual((await naru.operator.verifyLedger()).differences, []);
  assert.equal((await ledger(naru, 'retry', '--generation', id)).code, 1, 'there is nothing to retry');
  assert.equal((await ledger(naru, 'quarantine')).rows.length, 0);
  assert.equal((await ledger(naru, 'quarantine', '--all')).rows[0].state, 'settled');
  await until('the metric shows it', async () => (await metricOf(naru)) === 0);
  assert.equal(await doctorLine(t, naru), undefined);
});

test('a rejected settlement is written off with a reason, which is stored, and does not return', async (t) => {
  const { naru, key, id } = await refused(t);
  await stored(naru);
  assert.equal((await ledger(naru, 'write-off', '--generation', id)).code, 2);
  const done = await ledger(
    naru,
    'write-off',
    '--generation',
    id,
    '--reason',
    'a title that no app may have',
  );
  assert.equal(done.code, 0);
  assert.equal((await ledger(naru, 'write-off', '--generation', id, '--reason', 'again')).code, 1);
  const [row] = (await ledger(naru, 'quarantine', '--all')).rows;
  assert.deepEqual([row.state, row.reason], ['written off', 'a title that no app may have']);
  assert.deepEqual((await naru.operator.verifyLedger()).differences, []);
  await naru.database.query('ALTER TABLE generation DROP CONSTRAINT taste');
  assert.deepEqual((await ledger(naru, 'retry')).rows, []);
  assert.equal(await usedOf(naru, key), 0);
  await naru.stop();
  assert.deepEqual(readdirSync(join(naru.dataDir, 'journal')), [], 'the journal has let go of it');
});

for (const how of ['later', 'by the next start'] as const) {
  test(`a rejected settlement that cannot be quarantined stays in the journal, and is quarantined ${how}`, async (t) => {
    const { naru, key } = await refused(t, { isClosed: true });
    await until('it is logged', () => naru.logged.some(({ event }) => event === 'quarantine_not_stored'));
    assert.equal(naru.gateway.settlements.unstored, 1);
    assert.equal(await metricOf(naru), 1);
    await naru.gateway.settlements.renew();
    assert.equal((await listQuarantined(naru.database)).length, 0);
    if (how === 'by the next start') {
      await naru.stop();
      assert.equal(
        (await naru.database.query('SELECT 1 FROM gateway_node')).length,
        1,
        'the node stays listed',
      );
    }
    await naru.database.query('ALTER TABLE quarantined_settlement DROP CONSTRAINT closed');
    let now = naru;
    if (how === 'later') await naru.gateway.settlements.renew();
    else {
      now = await startTestGateway({ models: [], after: naru });
      t.after(() => now.close());
    }
    await stored(now);
    await until('the journal has let go of it', () => now.gateway.settlements.unstored === 0);
    await now.database.query('ALTER TABLE generation DROP CONSTRAINT taste');
    assert.equal((await ledger(now, 'retry')).code, 0);
    await until('it is charged', async () => (await usedOf(now, key)) === 20);
    assert.deepEqual((await now.operator.verifyLedger()).differences, []);
  });
}

/** Runs `naru node recover` on the data directory of a gateway that has stopped. */
async function recover(t: TestContext, { database, dataDir }: TestGateway) {
  const installation = createInstallation();
  t.after(() => installation.remove());
  const file = installation.configure({ database: { url: urlOf(database.address) }, models: [] });
  const { code, rows, err } = await installation.json('node', 'recover', dataDir, '--config', file);
  assert.equal(code, 0, err);
  return rows[0];
}

/**
 * Stops the gateway, leaves records of the quarantined request in its journal as a kill does before
 * the file of their segment is deleted, recovers it by the command and starts the gateway again.
 */
async function restartWith(t: TestContext, naru: TestGateway, left: readonly ('open' | 'final')[]) {
  const [entry] = await listQuarantined(naru.database);
  const row = decodeFinal(entry?.record.toString() ?? '');
  await naru.stop();
  const journal = await Journal.open({ dir: join(naru.dataDir, 'journal'), clock: systemClock });
  if (left.includes('open')) await journal.durable(journal.append(openType, encodeOpen(row)));
  if (left.includes('final')) await journal.durable(journal.append(finalType, encodeFinal(row)));
  await journal.close();
  const recovered = await recover(t, naru);
  assert.equal(recovered.quarantined, 0);
  const again = await startTestGateway({ models: [], after: naru });
  t.after(() => again.close());
  return again;
}

for (const left of [['open'], ['final'], ['open', 'final']] as const) {
  test(`a start or a recovery that replays the ${left.join(' and ')} record of a quarantined settlement leaves the decision to the operator`, async (t) => {
    const { naru, key, accountId } = await refused(t);
    await stored(naru);
    await naru.database.query('ALTER TABLE generation DROP CONSTRAINT taste');
    const again = await restartWith(t, naru, left);
    assert.equal(await usedOf(again, key), 0);
    assert.equal((await listQuarantined(again.database)).length, 1);
    assert.deepEqual(await Array.fromAsync(again.operator.exportGenerations(accountId)), []);
    assert.equal((await ledger(again, 'retry')).code, 0);
    await until('it is charged', async () => (await usedOf(again, key)) === 20);
    assert.deepEqual((await again.operator.verifyLedger()).differences, []);
    await again.stop();
    assert.deepEqual(readdirSync(join(again.dataDir, 'journal')), [], 'the journal has let go of it');
  });
}

test('two attempts to store what was refused store each once, and release its records once', async (t) => {
  const { database, generation } = await openLedger(t);
  const released: Ticket[] = [];
  const journal = { release: (ticket: Ticket) => released.push(ticket) };
  const quarantine = new Quarantine({ database, journal, log: silentLog });
  const rows = [generation(1n), generation(2n), generation(3n)];
  await database.query(closed);
  for (const [n, row] of rows.entries()) await quarantine.add(row, 'no', [n as Ticket]);
  assert.equal(quarantine.unstored, 3);
  await database.query('ALTER TABLE quarantined_settlement DROP CONSTRAINT closed');
  // The first row conflicts once, so those behind it are stored before it.
  for (const command of conflictOnce) await database.query(command);
  await Promise.all([quarantine.storeAgain(), quarantine.storeAgain()]);
  assert.equal(quarantine.unstored, 0);
  assert.deepEqual(released.toSorted(), [0, 1, 2]);
  assert.deepEqual(
    (await listQuarantined(database)).map(({ attempts }) => attempts),
    [1, 1, 1],
  );
});

test('a retry settles what is not charged: neither the record of a dead node nor a decision of another operator counts as a charge', async (t) => {
  const world = await openLedger(t);
  const { database, generation } = world;
  const quarantine = new Quarantine({ database, journal: { release: () => {} }, log: silentLog });
  const [recorded, charged, contested] = [generation(5n), generation(6n), generation(7n)];
  // Its journal kept what it had reported as lost.
  const givenUp = generation(8n);
  for (const row of [recorded, charged, contested, givenUp]) await quarantine.add(row, 'no', []);
  const failed = { status: 500, errorType: 'server', cost: 0n } as const;
  await world.settle({ ...recorded, ...failed, model: null }, charged, { ...givenUp, ...failed });
  const tries = await Promise.all([
    retryQuarantined(database, null),
    writeOffQuarantined(database, { uuid: contested.uuid, reason: 'x' }),
  ]);
  assert.match(tries[0].get(recorded.uuid) ?? '', /recorded without a charge/);
  assert.match(tries[0].get(givenUp.uuid) ?? '', /recorded the request as failed: write it off/);
  assert.equal(tries[0].get(charged.uuid), null);
  const [{ resolution } = { resolution: null }] = (await listQuarantined(database, true)).filter(
    ({ uuid }) => uuid === contested.uuid,
  );
  const entries = (await world.entries()).map((entry) => entry.amount);
  assert.deepEqual(entries, resolution === 'settled' ? [-6n, -7n] : [-6n]);
  assert.deepEqual(
    (await listQuarantined(database)).map(({ uuid }) => uuid).sort(),
    [recorded.uuid, givenUp.uuid].sort(),
  );
  assert.ok(await writeOffQuarantined(database, { uuid: givenUp.uuid, reason: 'given up' }));
  // What a person finds out: the charge was lost, and the account pays it by an adjustment.
  assert.ok(await writeOffQuarantined(database, { uuid: recorded.uuid, reason: 'adjusted' }));
  assert.deepEqual(await world.differences(), []);
});

test('a retry charges no account that does not exist, and no later customer with the same number', async (t) => {
  const world = await openLedger(t);
  const { database, generation, clock, keyId, accountId } = world;
  const quarantine = new Quarantine({ database, journal: { release: () => {} }, log: silentLog });
  const lost = { accountId: accountId + 1, keyId: keyId + 1 };
  const charge = generation(5n, lost);
  await quarantine.add(charge, 'no', []);
  const retried = async () => (await retryQuarantined(database, null)).get(charge.uuid) ?? 'settled';
  assert.match(await retried(), /there is no key \d+/);
  clock.advance(2_000);
  assert.deepEqual(await world.addPayer('later'), lost, 'the number is used again');
  assert.match(await retried(), /key \d+ was created at \S+, after the request/);
  assert.equal((await database.query('SELECT 1 FROM generation')).length, 0);
  // Two processes may differ a little in the time of the database.
  const skewed = generation(6n, { ...lost, createdAtMs: clock.now() - 500 });
  await quarantine.add(skewed, 'no', []);
  assert.equal((await retryQuarantined(database, skewed.uuid)).get(skewed.uuid), null);
});

test('a backup waits until a refused charge is stored in the quarantine', async (t) => {
  const { naru, key } = await refused(t);
  await stored(naru);
  const order: string[] = [];
  const held = Promise.withResolvers<void>();
  const holding = naru.database.transaction(async (sql) => {
    await sql.query('SELECT 1 FROM quarantine_head FOR UPDATE');
    held.resolve();
    const headers = { 'x-title': 'poison' };
    assert.equal((await naru.send('POST', '/chat/completions', { key, body: request, headers })).status, 200);
    const caughtUp = naru.gateway.settlements.caughtUp().then(() => order.push('caught up'));
    await until('it is refused', () => naru.gateway.settlements.unstored === 1);
    await until('none is on its way to the database', () => naru.gateway.settlements.backlog === 0);
    order.push('stored');
    return { caughtUp };
  });
  await held.promise;
  await (await holding).caughtUp;
  assert.deepEqual(order, ['stored', 'caught up']);
  assert.equal((await listQuarantined(naru.database)).length, 2);
});

test('a node confirms no flush while only its journal has a refused charge', async (t) => {
  const { naru } = await refused(t, { isClosed: true });
  await until('it is logged', () => naru.logged.some(({ event }) => event === 'quarantine_not_stored'));
  const { database } = naru;
  const { settlements } = naru.gateway;
  await assert.rejects(settlements.caughtUp(), /only the journal has 1 settlement/);
  const home = readFileSync(join(naru.dataDir, 'node-id'), 'utf8').trim();
  const isConfirmed = async (): Promise<boolean | undefined> => {
    const flush = await requestFlush(database);
    await respondToFlush(flush, { settlements, database, log: silentLog, home });
    return (await readFlush(database, flush)).find((node) => node.home === home)?.isDone;
  };
  assert.equal(await isConfirmed(), false);
  await database.query('ALTER TABLE quarantined_settlement DROP CONSTRAINT closed');
  assert.equal(await isConfirmed(), true);
  assert.equal((await listQuarantined(database)).length, 1, 'the flush has stored it');
});

test('a settlement of a kind that no ledger table can hold can be quarantined', async (t) => {
  const { database, generation } = await openLedger(t);
  const quarantine = new Quarantine({ database, journal: { release: () => {} }, log: silentLog });
  const odd = [
    generation(1n, { cost: 10n ** 40n }),
    generation(1n, { accountId: Number.MAX_SAFE_INTEGER, keyId: -1 }),
    generation(1n, { promptTokens: 1e12, priceVersion: -5 }),
    generation(1n, { detail: '{"title":"\\u0000\\ud800"}', model: 'a\u0000b' }),
  ];
  for (const row of odd) await quarantine.add(row, `no\u0000 ${'x'.repeat(1e6)}`, []);
  assert.equal(quarantine.unstored, 0);
  const kept = await listQuarantined(database);
  const byId = new Map(kept.map((entry) => [entry.uuid, entry]));
  for (const row of odd) {
    const entry = byId.get(row.uuid) ?? assert.fail(generationIdOf(row.uuid as GenerationUuid));
    assert.equal(entry.cost, row.cost);
    assert.deepEqual(decodeFinal(entry.record.toString()), row);
  }
  // One that a person has decided about is not opened again by a journal that brings it once more.
  const [first] = kept;
  assert.ok(first !== undefined);
  await database.query(
    "UPDATE quarantined_settlement SET resolution = 'written off', note = 'x', resolved_at = now() WHERE generation_id = $1",
    [first.uuid],
  );
  await database.transaction((sql) => storeQuarantined(sql, first));
  assert.equal((await listQuarantined(database)).length, 3);
});

test('a rejected settlement that was deleted from the quarantine is found by the verification; retries and decisions are not', async (t) => {
  const ledger = await openLedger(t);
  const { database, generation } = ledger;
  const quarantine = new Quarantine({ database, journal: { release: () => {} }, log: silentLog });
  const rows = [generation(1n), generation(2n), generation(3n)];
  // Two processes store the same ones at the same time, and the last once more.
  await Promise.all([...rows, ...rows].map((row) => quarantine.add(row, 'no', [])));
  assert.equal(quarantine.unstored, 0);
  const [retried, writtenOff, open] = await listQuarantined(database);
  assert.ok(retried !== undefined && writtenOff !== undefined && open !== undefined);
  assert.deepEqual(await retryQuarantined(database, retried.uuid), new Map([[retried.uuid, null]]));
  assert.ok(await writeOffQuarantined(database, { uuid: writtenOff.uuid, reason: 'x' }));
  const waits = `every settlement that the database refused is settled or written off (naru ledger quarantine): generation ${open.uuid}`;
  assert.deepEqual(await ledger.differences(), [waits]);
  const remove = 'DELETE FROM quarantined_settlement WHERE generation_id = $1';
  await assert.rejects(database.query(remove, [open.uuid]), /never changed/);
  await tamper(database, remove, [open.uuid]);
  assert.deepEqual(await ledger.differences(), [
    'the chain of the refused settlements = the hashes of their rows: quarantine',
  ]);
});
