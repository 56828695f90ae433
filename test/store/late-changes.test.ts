/**
 * On a distributed database a change is announced when the coordinator has committed, a moment
 * before the servers of its rows have: who reads at once may find the state of before.
 */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import {
  type Change,
  changesAfter,
  listenForChanges,
  recordChange,
  seenUntilNow,
} from '../../src/store/changes.ts';
import { connect } from '../../src/store/connection.ts';
import type { Database } from '../../src/store/database.ts';
import type { LateReads } from '../../src/store/placement/placement.ts';
import { onlyDistributed } from '../harness/citus.ts';
import { openTestDatabase } from '../harness/database.ts';
import { stateCluster } from '../harness/stated-cluster.ts';
import { until } from '../harness/until.ts';

async function openDatabase(t: TestContext): Promise<Database> {
  const database = await openTestDatabase(t);
  return database;
}

function accountAt({ placement }: Database, server: number): number {
  for (let id = 1; ; id += 1)
    if (placement.servers[server]?.parts.includes(placement.partOf(id)) === true) return id;
}

interface Followed {
  readonly database: Database;
  readonly late: LateReads;
  readonly applied: number[];
  readonly accounts: readonly number[];
}

/** Two servers whose commits under way are the rows of a table; no row: the server is away. */
async function openFollowed(t: TestContext): Promise<Followed> {
  const database = await openDatabase(t);
  const servers = [
    { host: '127.0.0.1', port: 1 },
    { host: '127.0.0.1', port: 2 },
  ];
  await stateCluster(database, servers);
  await database.query('CREATE TABLE under_way (port int, gids json)');
  await database.query(
    "INSERT INTO under_way VALUES ($1, '[]'), ($2, '[]')",
    servers.map((each) => each.port),
  );
  await database.query(
    `CREATE FUNCTION master_run_on_worker(hosts text[], ports int[], commands text[], parallel boolean)
     RETURNS TABLE (success boolean, result text) LANGUAGE sql AS $$
       SELECT u.gids IS NOT NULL, coalesce(u.gids::text, 'it is away') FROM under_way u WHERE u.port = ports[1] $$`,
  );
  await database.place();
  const applied: number[] = [];
  const apply = async (changes: readonly Change[]): Promise<void> => {
    applied.push(...changes.map(({ subject }) => subject));
  };
  const late = database.placement.lateReads(apply);
  t.after(() => late.close());
  return { database, late, applied, accounts: [0, 1].map((server) => accountAt(database, server)) };
}

const changeOf = (subject: number): Change => ({ id: 1, topic: 'account', subject });

function setUnderWay(
  { database }: Followed,
  server: number,
  gids: readonly string[] | null,
): Promise<unknown> {
  const text = gids === null ? null : JSON.stringify(gids);
  return database.query('UPDATE under_way SET gids = $2 WHERE port = $1', [server + 1, text]);
}

const plainOnly = { skip: onlyDistributed('').skip === false ? 'states a cluster of its own' : false };

test(
  'a change is read again when the commits of its instant have ended, not before',
  plainOnly,
  async (t) => {
    const followed = await openFollowed(t);
    const { late, applied, accounts } = followed;
    await setUnderWay(followed, 0, ['one']);
    late.note(accounts.map(changeOf));
    await until('the other server has committed', () => applied.length > 0, 5_000);
    assert.deepEqual(applied, [accounts[1]]);
    await setUnderWay(followed, 0, ['one', 'later']);
    await new Promise((resolve) => setTimeout(resolve, 200));
    assert.deepEqual(applied, [accounts[1]], 'it is not committed yet');
    await setUnderWay(followed, 0, ['later']);
    await until('it is read again', () => applied.length > 1, 5_000);
    assert.deepEqual(applied, [accounts[1], accounts[0]], 'later commits are not awaited');
  },
);

test(
  'a change of a server that is away is read once it is back, those of others before',
  plainOnly,
  async (t) => {
    const followed = await openFollowed(t);
    const { late, applied, accounts } = followed;
    const [away = 0, here = 0] = accounts;
    await setUnderWay(followed, 0, null);
    for (let n = 0; n < 3; n += 1) late.note([changeOf(away), changeOf(here)]);
    await until('the change of the server that is there', () => applied.includes(here), 5_000);
    await new Promise((resolve) => setTimeout(resolve, 700));
    assert.ok(!applied.includes(away));
    await setUnderWay(followed, 0, []);
    await until('the change of the server that was away', () => applied.includes(away), 5_000);
    assert.equal(applied.filter((id) => id === away).length, 1, 'one account is read once');
  },
);

test('changes of other topics, and of one database, are not read again', plainOnly, async (t) => {
  const database = await openDatabase(t);
  const apply = async (): Promise<void> => assert.fail('it was read again');
  const late = database.placement.lateReads(apply);
  late.note([changeOf(1)]);
  const followed = await openFollowed(t);
  followed.late.note([{ id: 1, topic: 'node', subject: 1 }]);
  await new Promise((resolve) => setTimeout(resolve, 200));
  assert.deepEqual(followed.applied, []);
});

test(
  'no change over two servers is missed by who reads it again',
  onlyDistributed('one server commits and announces in one instant'),
  async (t) => {
    const database = await openDatabase(t);
    await database.place();
    const { placement } = database;
    const without = new Set(placement.servers);
    const accounts: number[] = [];
    while (without.size > 0) {
      const [row] = await database.query<{ id: bigint }>(
        "INSERT INTO account (name, created_at) VALUES ('a', now()) RETURNING id",
      );
      const id = Number(row?.id);
      const server = [...without].find(({ parts }) => parts.includes(placement.partOf(id)));
      if (server !== undefined && without.delete(server)) accounts.push(id);
    }
    await database.query('INSERT INTO account_balance (account_id) SELECT id FROM account');
    let committed = 0;
    const counts = { early: 0, late: 0, reads: 0 };
    const isShown = async (of: readonly number[], wanted: number): Promise<boolean> => {
      const rows = await Promise.all(
        of.map((id) =>
          database.query<{ credits: bigint }>('SELECT credits FROM account_balance WHERE account_id = $1', [
            id,
          ]),
        ),
      );
      return rows.every(([row]) => Number(row?.credits) >= wanted);
    };
    const apply = async (changes: readonly Change[]): Promise<void> => {
      // Of what was announced before the servers were asked.
      const wanted = announced;
      if (
        !(await isShown(
          changes.map(({ subject }) => subject),
          wanted,
        ))
      )
        counts.late += 1;
    };
    let announced = 0;
    const late = database.placement.lateReads(apply);
    const listener = await connect(database.address, null);
    t.after(async () => {
      late.close();
      await listener.end();
    });
    let seen = await seenUntilNow(database);
    await listenForChanges(listener);
    for (let n = 1; n <= 200; n += 1) {
      const done = database
        .transaction(async (sql) => {
          for (const id of accounts)
            await sql.query('UPDATE account_balance SET credits = $2, balance = $2 WHERE account_id = $1', [
              id,
              n,
            ]);
          for (const id of accounts) await recordChange(sql, 'account', id);
        })
        .then(() => {
          committed = n;
        });
      let page = await changesAfter(listener, seen, 0);
      while (page.changes.length === 0) page = await changesAfter(listener, seen, 0);
      seen = page.seen;
      counts.reads += 1;
      if (!(await isShown(accounts, n))) counts.early += 1;
      announced = n;
      late.note(page.changes);
      await done;
    }
    await until('the last change is read again', () => committed === 200, 5_000);
    t.diagnostic(`${counts.early} of ${counts.reads} changes were announced before they were visible`);
    assert.equal(counts.late, 0, 'who reads again is not fooled');
  },
);
