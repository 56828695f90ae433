import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { removeLostNodes } from '../../src/nodes/nodes-sql.ts';
import { Database } from '../../src/store/database.ts';
import type { GenerationUuid } from '../../src/wire/ids/generation-id.ts';
import { createInstallation, type Installation, type Serving, systemUser } from '../cli/naru.ts';
import { urlOf } from '../harness/database.ts';
import { startTestGateway } from '../harness/gateway.ts';
import { operatorOn } from '../harness/payer.ts';
import { byTier, fullOnly } from '../harness/tier.ts';
import { eventually } from '../harness/until.ts';
import { gate, reply, startUpstream, usage } from '../harness/upstream.ts';
import { createWorld } from './directory-copies.ts';
import { chat, costWon, createSite, send } from './worker-site.ts';

/*
 * Charges that clients received and the database does not have: their node is lost, or their
 * journal belongs to another database.
 */

type World = Awaited<ReturnType<typeof createWorld>>;

const fileOf = ({ folder }: Installation): string => join(folder, 'naru.yaml');
const identityOf = ({ dataDir }: { readonly dataDir: string }): string =>
  readFileSync(join(dataDir, 'node-id'), 'utf8').trim();
const usedIs = (world: World, accountId: number, won: number) =>
  eventually(`${won} won are charged`, 8_000, async () =>
    (await world.usedWon(accountId)) === won ? true : null,
  );

/**
 * A node that was killed with one charge in its journal; with the option also a request that never
 * ended.
 */
async function lost(t: TestContext, { withOrphan = false } = {}) {
  const world = await createWorld(t);
  const installation = world.installation();
  const one = await world.up(installation);
  const payer = await world.account('1000');
  assert.equal((await send(one.origin, payer.key)).status, 200);
  await usedIs(world, payer.accountId, costWon);
  const release = await world.holdSettlements();
  assert.equal((await send(one.origin, payer.key)).status, 200);
  if (withOrphan) {
    const seen = world.upstream.requests.length;
    world.upstream.next(reply.chat('never', { usage: usage(10, 5) }).pauseAt(0, gate()));
    void send(one.origin, payer.key);
    await world.upstream.request(seen + 1);
  }
  one.child.kill('SIGKILL');
  await one.ended;
  await release();
  assert.equal(await world.usedWon(payer.accountId), costWon);
  return { world, installation: installation, ...payer };
}

async function metric({ out }: Serving, name: string): Promise<number> {
  const port = /"admin_port":(\d+)/.exec(out())?.[1];
  const page = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(page)?.[1]);
}

const metricIs = (serving: Serving, name: string, value: number) =>
  eventually(`${name} is ${value}`, 10_000, async () =>
    (await metric(serving, name)) === value ? true : null,
  );

test('a lost node stays listed until its journal is recovered, which works beside a running server and repeatedly', async (t) => {
  const { world, installation, accountId, key } = await lost(t, { withOrphan: true });
  const other = world.installation();
  const two = await world.up(other);
  // A day later, and after every job that removes rows from the list.
  await world.database.query(
    "UPDATE gateway_node SET seen_at = seen_at - interval '1 day' WHERE home = $1::uuid",
    [identityOf(installation)],
  );
  await removeLostNodes(world.database, 3_600_000);
  await metricIs(two, 'naru_lost_nodes', 1);
  const listed = await other.json('node', 'list', '--config', fileOf(other));
  assert.deepEqual(
    listed.rows.map(({ name, state }) => [name, state]),
    [
      [identityOf(installation), 'lost'],
      [identityOf(other), 'serving'],
    ],
  );
  const doctor = await other.json('doctor', '--config', fileOf(other));
  assert.deepEqual(
    doctor.rows.filter(({ ok }) => !ok).map(({ check }) => check),
    ['nodes'],
  );
  const asCopy = await other.json(
    'node',
    'recover',
    installation.dataDir,
    '--copy',
    '--config',
    fileOf(other),
  );
  assert.equal(asCopy.code, 0, asCopy.err);
  assert.deepEqual(
    [asCopy.rows[0].settlements, asCopy.rows[0].failed, asCopy.rows[0].unfinished, asCopy.rows[0].closed],
    [asCopy.rows[0].settlements, 0, 1, []],
  );
  await usedIs(world, accountId, 2 * costWon);
  const records = () => Array.fromAsync(world.operator.exportGenerations(accountId));
  assert.equal((await records()).length, 2);
  for (const closed of [[identityOf(installation)], []]) {
    const done = await other.json('node', 'recover', installation.dataDir, '--config', fileOf(other));
    assert.equal(done.code, 0, done.err);
    const [{ settlements, known, quarantined, failed, alive }] = done.rows;
    assert.deepEqual(
      { known, quarantined, failed, alive },
      { known: settlements, quarantined: 0, failed: 1, alive: [] },
    );
    assert.deepEqual(done.rows[0].closed, closed);
    assert.equal((await records()).length, 3, 'the request without an end is on record, and free');
    assert.equal(await world.usedWon(accountId), 2 * costWon);
  }
  // spec:operator/1.18
  const acts = (await other.json('audit', '--act', 'node.recover', '--config', fileOf(other))).rows;
  assert.deepEqual(
    acts.map(({ who, after }) => [who, after.failed]),
    [
      [systemUser, 1],
      [systemUser, 1],
      [systemUser, 0],
    ],
  );
  await metricIs(two, 'naru_lost_nodes', 0);
  assert.equal((await send(two.origin, key)).status, 200);
  await usedIs(world, accountId, 3 * costWon);
  assert.equal((await world.operator.verifyLedger()).differences.length, 0);
  // It may still return. A directory that returns with charges of its own: copied-directory.test.ts.
  if (byTier(true, false)) return;
  await world.up(installation);
  assert.equal(await world.usedWon(accountId), 3 * costWon);
});

// spec:money/5.11
test('a journal of which a part is missing keeps its node listed and its requests open, until --accept-torn', async (t) => {
  const { world, installation, accountId } = await lost(t, { withOrphan: true });
  const journal = join(installation.dataDir, 'journal');
  const [name = ''] = readdirSync(journal).filter((file) => file.endsWith('.journal'));
  const whole = readFileSync(join(journal, name));
  const other = world.installation();
  const recover = (...flags: readonly string[]) =>
    other.json('node', 'recover', installation.dataDir, ...flags, '--config', fileOf(other));
  const records = () => world.database.query('SELECT 1 FROM generation');
  const before = (await records()).length;
  const lastByte = whole.findLastIndex((byte) => byte !== 0);
  const parts = {
    'cut behind the first bytes of a record': whole.subarray(0, 8_400),
    'cut inside the header': whole.subarray(0, 20),
    'cut behind all records': whole.subarray(0, lastByte + 1),
    empty: Buffer.alloc(0),
    'torn in its last record': Buffer.concat([
      whole.subarray(0, lastByte),
      Buffer.alloc(whole.length - lastByte),
    ]),
  };
  for (const [how, part] of Object.entries(parts)) {
    writeFileSync(join(journal, name), part);
    const { code, rows, err } = await recover();
    const [{ damaged, failed, closed }] = rows;
    assert.deepEqual({ code, damaged, failed, closed }, { code: 1, damaged: 1, failed: 0, closed: [] }, how);
    assert.match(err, /part of the journal is missing.*--accept-torn/, how);
    assert.equal((await world.nodes()).length, 1, how);
  }
  writeFileSync(join(journal, name), whole.subarray(0, lastByte + 1));
  const done = await recover('--accept-torn');
  assert.equal(done.code, 0, done.err);
  assert.deepEqual([done.rows[0].failed, done.rows[0].closed], [1, [identityOf(installation)]]);
  assert.equal((await records()).length, before + 2);
  assert.equal(await world.usedWon(accountId), 2 * costWon);
  assert.equal((await world.operator.verifyLedger()).differences.length, 0);
});

test(
  'the journals of all workers of a lost server are recovered from its data directory',
  fullOnly,
  async (t) => {
    const world = await createWorld(t);
    const installation = world.installation();
    const one = await world.up(installation, '--workers', '2');
    const { accountId, key } = await world.account('1000');
    for (let n = 0; n < 2; n += 1) assert.equal((await send(one.origin, key)).status, 200);
    await usedIs(world, accountId, 2 * costWon);
    const identities = [1, 2].map((worker) =>
      readFileSync(join(installation.dataDir, 'workers', String(worker), 'node-id'), 'utf8').trim(),
    );
    one.child.kill('SIGKILL');
    await one.ended;
    const other = world.installation();
    const closed: string[] = [];
    // Workers end with their parent.
    await eventually('both are recovered', 15_000, async () => {
      const done = await other.json('node', 'recover', installation.dataDir, '--config', fileOf(other));
      closed.push(...(done.rows[0]?.closed ?? []));
      return done.code === 0 ? true : null;
    });
    assert.deepEqual(closed.toSorted(), identities.toSorted());
    assert.deepEqual(await world.nodes(), []);
    assert.equal(await world.usedWon(accountId), 2 * costWon);
  },
);

test('a killed server with an embedded database is recovered without starting it', fullOnly, async (t) => {
  const site = await createSite(t);
  const team = await site.start(1);
  const { accountId, key } = await team.account('1000');
  site.upstream.always(reply.chat('never', { usage: usage(10, 5) }).pauseAt(0, gate()));
  void send(team.serving.origin, key);
  await site.upstream.request(1);
  await team.killAll();
  await eventually('it is recovered', 20_000, async () => {
    const { code, err, rows } = await site.installation.json('node', 'recover', site.installation.dataDir);
    if (code !== 0) assert.match(err, /process lives/);
    return rows[0]?.failed === 1 ? true : null;
  });
  const { rows } = await site.installation.json('generation', 'export', '--account', String(accountId));
  assert.deepEqual(
    rows.map(({ status, cost_krw }) => [status, cost_krw]),
    [[500, '0.000000']],
  );
  assert.deepEqual((await site.installation.json('node', 'list')).rows, []);
});

/** A node in this process, and the directory of an operator's commands on its database. */
async function servingNode(t: TestContext) {
  const upstream = await startUpstream();
  const naru = await startTestGateway({ models: [{ id: 'test/echo', upstreams: [upstream.url] }] });
  const office = createInstallation();
  office.configure({ database: { url: urlOf(naru.database.address) } });
  t.after(async () => {
    await naru.close();
    await upstream.close();
    office.remove();
  });
  const node = (...args: readonly string[]) => office.json('node', ...args, '--config', fileOf(office));
  const nodes = () =>
    naru.database.query<{ home: string }>('SELECT home::text FROM gateway_node ORDER BY id');
  return { naru, upstream, node, nodes };
}

test("recovery leaves a serving node's journal to the node; as a copy, it settles the settled records only", async (t) => {
  const { naru, upstream, node } = await servingNode(t);
  const { accountId, key } = await naru.account();
  const held = gate();
  upstream.next(reply.chat('late', { usage: usage(10, 5) }).pauseAt(0, held));
  const hanging = naru.send('POST', '/chat/completions', { key, body: chat });
  await upstream.request(1);
  const refused = await node('recover', naru.dataDir);
  assert.deepEqual([refused.code, refused.rows], [1, []]);
  assert.match(refused.err, /is not lost .* process lives/);
  const { code, rows, err } = await node('recover', naru.dataDir, '--copy');
  assert.equal(code, 0, err);
  assert.deepEqual(
    [rows[0].failed, rows[0].unfinished, rows[0].closed, rows[0].alive],
    [0, 1, [], [identityOf(naru)]],
  );
  held.open();
  assert.equal((await hanging).status, 200);
  await naru.settled();
  assert.equal((await naru.operator.readAccount(accountId))?.usage, BigInt(costWon * 1e6));
});

test('a lost node whose journal is gone is written off by name, with a reason; a serving one is not', async (t) => {
  const { naru, node, nodes } = await servingNode(t);
  const lostHome = randomUUID();
  await naru.database.query(
    `INSERT INTO gateway_node (home, address, knows, seen_at)
     VALUES ($1, 'lost', 1000, now() - interval '6 seconds')`,
    [lostHome],
  );
  assert.equal((await node('write-off', lostHome)).code, 2, 'a reason is wanted');
  const serving = await node('write-off', identityOf(naru), '--reason', 'a mistake');
  assert.deepEqual([serving.code, /was seen a moment ago/.test(serving.err)], [1, true]);
  const done = await node('write-off', lostHome, '--reason', 'the disk is gone');
  assert.equal(done.code, 0, done.err);
  assert.match((await node('write-off', lostHome, '--reason', 'once more')).err, /no node /);
  const kept = await naru.database.query('SELECT home, closure, reason FROM closed_node');
  assert.deepEqual(kept, [{ home: lostHome, closure: 'written off', reason: 'the disk is gone' }]);
  assert.deepEqual(
    (await nodes()).map(({ home }) => home),
    [identityOf(naru)],
  );
});

// `test/ledger/journal/journal-owner.test.ts` sets a journal aside; the test after this one settles it in its own database.
test(
  'a journal charges no account in another database; it is set aside there, and settled in its own',
  fullOnly,
  async (t) => {
    const { world, installation, accountId } = await lost(t);
    const another = await world.anotherDatabase();
    const there = new Database(another.address, 1);
    t.after(() => there.close());
    const elsewhere = world.installation(urlOf(another.address));
    await (await world.up(elsewhere)).stop();
    const operator = operatorOn(there);
    while ((await operator.createAccount({ name: 'somebody else', email: null })) < accountId);
    const usedThere = async () => Number((await operator.readAccount(accountId))?.usage ?? 0n);
    // The operator changes database.url and starts.
    installation.configure(JSON.parse(readFileSync(fileOf(elsewhere), 'utf8')));
    const serving = await world.up(installation);
    assert.equal(await usedThere(), 0);
    assert.match(serving.err(), /"event":"journal","kind":"foreign"/);
    await metricIs(serving, 'naru_journal_foreign_segments', 1);
    const doctor = await installation.json('doctor', '--config', fileOf(installation));
    assert.equal(doctor.code, 1);
    assert.match(doctor.rows.find(({ ok }) => !ok).detail, /1 segment of another database or node/);
    const home = world.installation();
    const recover = async () => {
      const done = await home.json('node', 'recover', installation.dataDir, '--config', fileOf(home));
      assert.equal(done.code, 0, done.err);
      return done.rows[0];
    };
    const [row] = await there.query<{ id: string }>('SELECT id FROM database_identity');
    const first = await recover();
    assert.equal(first.closed.length, 0, 'its directory is served');
    assert.ok(
      row !== undefined && !(row.id in first.elsewhere),
      'nothing of the other database has come about',
    );
    await usedIs(world, accountId, 2 * costWon);
    assert.deepEqual(
      readdirSync(join(installation.dataDir, 'journal')).filter((name) => name.endsWith('.foreign')),
      [],
    );
    await serving.stop();
    assert.equal(
      (await installation.json('doctor', '--config', fileOf(installation))).rows.find(
        ({ check }) => check === 'journal',
      ),
      undefined,
    );
    assert.equal(await usedThere(), 0);
    assert.equal((await world.operator.verifyLedger()).differences.length, 0);
  },
);

for (const continues of byTier([false], [true, false])) {
  test(`charges made after a backup ${continues ? 'are settled in a restore that continues the ledger' : 'are settled in a separate restore only with the option'}`, async (t) => {
    const world = await createWorld(t);
    const installation = world.installation();
    const one = await world.up(installation);
    const { accountId, key } = await world.account('1000');
    assert.equal((await send(one.origin, key)).status, 200);
    await usedIs(world, accountId, costWon);
    const folder = join(installation.folder, 'backup');
    assert.equal(
      (await installation.run('backup', '--to', folder, '--config', fileOf(installation))).code,
      0,
    );
    const late = await world.account('1000');
    const release = await world.holdSettlements();
    assert.equal((await send(one.origin, key)).status, 200);
    assert.equal((await send(one.origin, late.key)).status, 200);
    one.child.kill('SIGKILL');
    await one.ended;
    await release();
    const [original] = await world.database.query<{ id: string }>('SELECT id FROM database_identity');
    const another = await world.anotherDatabase();
    const there = new Database(another.address, 1);
    t.after(() => there.close());
    const operator = operatorOn(there);
    const used = async () => Number((await operator.readAccount(accountId))?.usage ?? 0n) / 1e6;
    const target = world.installation(urlOf(another.address));
    const restored = await target.run(
      'restore',
      folder,
      ...(continues ? ['--continue'] : []),
      '--config',
      fileOf(target),
    );
    assert.equal(restored.code, 0, restored.err);
    const [now] = await there.query<{ id: string }>('SELECT id FROM database_identity');
    assert.equal(now?.id === original?.id, continues);
    installation.configure(JSON.parse(readFileSync(fileOf(target), 'utf8')));
    await world.up(installation);
    if (!continues) {
      assert.equal(await used(), costWon);
      const plain = await target.json('node', 'recover', installation.dataDir, '--config', fileOf(target));
      assert.ok(Object.keys(plain.rows[0].elsewhere).includes(original?.id ?? ''));
      assert.equal(await used(), costWon);
      const args = ['--of-database', original?.id ?? '', '--config', fileOf(target)];
      assert.equal((await target.run('node', 'recover', installation.dataDir, ...args)).code, 0);
    }
    await eventually('it is charged', 5_000, async () => ((await used()) === 2 * costWon ? true : null));
    // An account of after the backup is not there, and the next one will have its number.
    const [entry, ...more] = await operator.readQuarantine(false);
    assert.deepEqual([entry?.accountId, more.length], [late.accountId, 0]);
    assert.match(entry?.reason ?? '', /there is no key \d+/);
    const write = { uuid: (entry?.uuid ?? '') as GenerationUuid, reason: 'made after the backup' };
    assert.ok(await operator.writeOffQuarantined(write));
    assert.deepEqual((await operator.verifyLedger()).differences, []);
  });
}
