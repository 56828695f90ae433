import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { silentLog } from '../../src/log/log.ts';
import { NodeIdentityTaken } from '../../src/nodes/node-identity.ts';
import { NodeRegistry } from '../../src/nodes/node-registry.ts';
import { listNodes, nodeLostMs } from '../../src/nodes/nodes-sql.ts';
import type { ProcessMarks } from '../../src/nodes/process-mark.ts';
import { type Clock, systemClock } from '../../src/time/clock.ts';
import type { Installation } from '../cli/naru.ts';
import { openTestDatabase } from '../harness/database.ts';
import { byTier, fullOnly } from '../harness/tier.ts';
import { eventually } from '../harness/until.ts';
import { gate, reply, usage } from '../harness/upstream.ts';
import { createWorld } from './directory-copies.ts';
import { costWon, send } from './worker-site.ts';

/* Copied data directories, on one database of their own, served by real processes. */

/** As an operator copies a directory, whatever is running in it. */
function copy(from: Installation, to: Installation): void {
  execFileSync('cp', ['-a', from.dataDir, to.dataDir]);
}

const identityOf = ({ dataDir }: Installation): string =>
  readFileSync(join(dataDir, 'node-id'), 'utf8').trim();

async function identify(installation: Installation) {
  const { code, rows, err } = await installation.json('node', 'new-identity');
  assert.equal(code, 0, err);
  return rows;
}

test('a copy of a running data directory does not start; with its own identity it shares the remaining credit', async (t) => {
  const world = await createWorld(t);
  const [original, copied] = [world.installation(), world.installation()];
  const one = await world.up(original);
  const { accountId, key } = await world.account(String(26 * costWon));
  assert.equal((await send(one.origin, key)).status, 200);
  const before = await world.nodes();
  copy(original, copied);
  const { code, err } = await world.refused(copied);
  assert.equal(code, 1);
  assert.match(err, /node identity \S+ is in use by another process .*new-identity --data-dir/);
  assert.doesNotMatch(err, /\n\s+at /, 'a sentence, not a stack');
  assert.deepEqual(await world.nodes(), before, 'the original keeps its place');
  const [row] = await identify(copied);
  assert.equal(row.before, identityOf(original));
  assert.equal(row.after, identityOf(copied));
  const two = await world.up(copied);
  assert.equal((await world.nodes()).length, 2);
  const responses = await Promise.all(
    Array.from({ length: 60 }, (_, n) => send(n % 2 === 0 ? one.origin : two.origin, key)),
  );
  const responded = 1 + responses.filter(({ status }) => status === 200).length;
  // At exactly zero one more is admitted.
  assert.ok(responded >= 20 && responded <= 27, `${responded} responses where 26 fit`);
  await eventually('all is settled', 5_000, async () =>
    (await world.usedWon(accountId)) === responded * costWon ? true : null,
  );
  assert.equal((await world.operator.verifyLedger()).differences.length, 0);
});

test(
  'a request in flight when its directory was copied is charged once, whatever the copy does',
  fullOnly,
  async (t) => {
    const world = await createWorld(t);
    const [original, copied] = [world.installation(), world.installation()];
    const one = await world.up(original);
    const { accountId, key } = await world.account('1000');
    const held = gate();
    world.upstream.next(reply.chat('late', { usage: usage(10, 5) }).pauseAt(0, held));
    const hanging = send(one.origin, key);
    await world.upstream.request(1);
    copy(original, copied);
    const [row] = await identify(copied);
    assert.ok(existsSync(row.set_aside), 'the copy of the journal is kept, out of reach');
    const two = await world.up(copied);
    assert.equal((await send(two.origin, key)).status, 200);
    held.open();
    assert.equal((await hanging).status, 200);
    await eventually('both are settled', 5_000, async () =>
      (await world.usedWon(accountId)) === 2 * costWon ? true : null,
    );
  },
);

test(
  'of a snapshot that is started twice at once, one serves and the other reports why it does not',
  fullOnly,
  async (t) => {
    const world = await createWorld(t);
    const [first, second] = [world.installation(), world.installation()];
    await (await world.up(first)).stop();
    copy(first, second);
    const starts = await Promise.allSettled([world.up(first), world.up(second)]);
    const failed = starts.flatMap((start) => (start.status === 'rejected' ? [String(start.reason)] : []));
    assert.equal(failed.length, 1, `${failed.length} failed`);
    assert.match(failed[0] ?? '', /node identity \S+ is in use/);
    assert.equal((await world.nodes()).length, 1);
  },
);

test(
  'a directory that was restored from a copy replaces one that was killed, and charges nothing twice',
  fullOnly,
  async (t) => {
    const world = await createWorld(t);
    const [original, restored] = [world.installation(), world.installation()];
    const one = await world.up(original);
    const { accountId, key } = await world.account('1000');
    assert.equal((await send(one.origin, key)).status, 200);
    copy(original, restored);
    assert.equal((await send(one.origin, key)).status, 200);
    await eventually('it is settled', 5_000, async () =>
      (await world.usedWon(accountId)) === 2 * costWon ? true : null,
    );
    one.child.kill('SIGKILL');
    await one.ended;
    const two = await world.up(restored);
    assert.equal((await send(two.origin, key)).status, 200);
    await eventually('the third is settled', 5_000, async () =>
      (await world.usedWon(accountId)) === 3 * costWon ? true : null,
    );
    assert.deepEqual(
      (await world.nodes()).map(({ home }) => home),
      [identityOf(original)],
    );
    assert.equal((await world.operator.verifyLedger()).differences.length, 0);
  },
);

for (const workers of [1, 2]) {
  test(
    `a server of ${workers} that was declared lost and replaced by a copy stops when it returns`,
    fullOnly,
    async (t) => {
      const world = await createWorld(t);
      const [original, copied] = [world.installation(), world.installation()];
      const args = ['--workers', String(workers)];
      const one = await world.up(original, ...args);
      const { key } = await world.account('1000');
      copy(original, copied);
      assert.match((await world.refused(copied, ...args)).err, /is in use/);
      const pids = [one.child.pid ?? 0, ...childrenOf(one.child.pid ?? 0)];
      for (const pid of pids) process.kill(pid, 'SIGSTOP');
      t.after(() => {
        for (const pid of pids) if (existsSync(`/proc/${pid}`)) process.kill(pid, 'SIGCONT');
      });
      await ofAnotherMachine(world);
      await eventually('it is lost', 15_000, async () =>
        (await listNodes(world.database)).every(({ silentMs }) => silentMs >= nodeLostMs) ? true : null,
      );
      const two = await world.up(copied, ...args);
      const registered = await world.nodes();
      for (const pid of pids) process.kill(pid, 'SIGCONT');
      assert.equal(await one.ended, 1);
      assert.match(one.err(), /"message":"node identity \S+ is in use by another process/);
      assert.equal((await send(two.origin, key)).status, 200);
      assert.deepEqual(await world.nodes(), registered, 'no node had to register again');
    },
  );
}

/** Makes the processes of the listed nodes such that this machine cannot see whether they live. */
async function ofAnotherMachine({ database }: Awaited<ReturnType<typeof createWorld>>): Promise<void> {
  await database.query("UPDATE gateway_node SET process = 'another machine'");
}

// spec:money/5.9,5.10
for (const how of byTier(['recovered'] as const, ['recovered', 'started'] as const)) {
  test(`answers that a paused server completes after a copy of its directory was ${how} are quarantined, not lost`, async (t) => {
    const world = await createWorld(t);
    const [original, copied] = [world.installation(), world.installation()];
    const one = await world.up(original);
    const { accountId, key } = await world.account('1000');
    const held = gate();
    world.upstream.always(reply.chat('late', { usage: usage(10, 5) }).pauseAt(0, held));
    const hanging = Array.from({ length: 6 }, () => send(one.origin, key));
    await world.upstream.request(6);
    copy(original, copied);
    const { pid = 0 } = one.child;
    process.kill(pid, 'SIGSTOP');
    t.after(() => one.child.kill('SIGCONT'));
    // Its lease is long over, and its row in the registry is as old.
    await world.database.query("UPDATE gateway_node SET seen_at = seen_at - interval '1 hour'");
    const file = join(copied.folder, 'naru.yaml');
    const recover = () => copied.json('node', 'recover', copied.dataDir, '--config', file);
    const refused = await recover();
    assert.equal(refused.code, 1);
    assert.match(
      refused.err,
      /node \S+ is not lost .* process lives, perhaps paused.* --copy .*Nothing was changed/,
    );
    assert.match((await world.refused(copied)).err, /is in use by another process/);
    const home = identityOf(original);
    const writeOff = await copied.json('node', 'write-off', home, '--reason', 'x', '--config', file);
    assert.match(writeOff.err, /is not lost: its process runs/);
    const records = () => world.database.query('SELECT status, cost FROM generation');
    assert.deepEqual(await records(), []);

    await ofAnotherMachine(world);
    if (how === 'recovered') {
      const { code, rows, err } = await recover();
      assert.equal(code, 0, err);
      assert.deepEqual([rows[0].failed, rows[0].closed], [6, [home]]);
    } else await (await world.up(copied)).stop();
    assert.deepEqual(await records(), Array(6).fill({ status: 500, cost: 0n }));
    held.open();
    process.kill(pid, 'SIGCONT');
    const answers = await Promise.all(hanging);
    assert.deepEqual(
      answers.map(({ status }) => status),
      Array(6).fill(200),
    );
    const quarantined = () => world.operator.readQuarantine(false);
    await eventually('the charges are in the quarantine', 10_000, async () =>
      (await quarantined()).length === 6 ? true : null,
    );
    assert.deepEqual(
      (await quarantined()).map(({ cost, reason }) => [cost, /recorded without a charge/.test(reason)]),
      Array(6).fill([BigInt(costWon * 1e6), true]),
    );
    assert.equal(await world.usedWon(accountId), 0);
    const retried = await world.operator.retryQuarantined(null);
    for (const reason of retried.values()) assert.match(reason ?? '', /recorded without a charge/);
  });
}

/** Processes below another one. */
function childrenOf(pid: number): readonly number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return text === '' ? [] : text.split(' ').map(Number);
}

/** Marks of hosts that do not know each other. */
const marksOf = (own: string): ProcessMarks => ({ own, stateOf: () => 'unknown' });

for (const offMs of [-86_400_000, 0, 86_400_000]) {
  test(`two processes of one identity are distinguished with clocks ${offMs / 3_600_000} hours apart`, async (t) => {
    const database = await openTestDatabase(t, { poolSize: 2 });
    let passedMs = 0;
    const clock: Clock = { ...systemClock, monotonic: () => systemClock.monotonic() + passedMs };
    const shifted: Clock = { ...systemClock, now: () => systemClock.now() + offMs };
    const superseded: Error[] = [];
    const parts = { database, log: silentLog, home: randomUUID() };
    const first = await NodeRegistry.join({
      ...{ ...parts, clock, address: 'one', marks: marksOf('one') },
      onSuperseded: (error) => superseded.push(error),
    });
    const timer = setInterval(() => void first.beat().catch(() => {}), 50);
    t.after(() => clearInterval(timer));
    const another = { ...parts, clock: shifted, address: 'two', marks: marksOf('two') };
    await assert.rejects(NodeRegistry.join(another), NodeIdentityTaken);
    clearInterval(timer);
    await first.beat();
    const { id } = first;
    // Its lease expires by the database's clock, and no other node's.
    await database.query("UPDATE gateway_node SET seen_at = seen_at - interval '1 minute'");
    const second = await NodeRegistry.join(another);
    passedMs += nodeLostMs;
    for (let n = 0; n < 20; n += 1) await assert.rejects(first.beat(), NodeIdentityTaken);
    assert.equal(superseded.length, 1, 'it is logged once');
    assert.equal(first.id, id);
    await second.beat();
    assert.deepEqual(
      (await listNodes(database)).map(({ id: number, address }) => [number, address]),
      [[second.id, 'two']],
    );
    await first.leave();
    assert.equal((await listNodes(database)).length, 1, 'no other node is removed');
  });
}
