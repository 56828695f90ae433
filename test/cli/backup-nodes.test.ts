/**
 * `naru backup` beside other nodes on one database: it has what each of them acknowledged, or names
 * the node whose responses it lacks.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { connect } from '../../src/store/connection.ts';
import { createTestDatabase, type TestDatabase, urlOf } from '../harness/database.ts';
import { echoConfig } from '../harness/echo-config.ts';
import { byTier, fullOnly } from '../harness/tier.ts';
import { eventually } from '../harness/until.ts';
import { reply, startUpstream, type Upstream, usage } from '../harness/upstream.ts';
import { createInstallation, createInstallationOn, type Installation, type Serving } from './naru.ts';

let upstream: Upstream;
let database: TestDatabase;
let key = '';
const installations: Installation[] = [];
const nodes: Serving[] = [];

before(async () => {
  upstream = await startUpstream();
  upstream.always(reply.chat('네', { usage: usage(10, 5) }));
  database = await createTestDatabase();
  for (const _ of byTier([1, 2], [1, 2, 3])) {
    const installation = createInstallation();
    installations.push(installation);
    const config = installation.configure({
      database: { url: urlOf(database.address) },
      limits: { requests_per_second: 100_000, burst: 100_000 },
      ...echoConfig(upstream.url),
    });
    nodes.push(await installation.up('--config', config));
  }
  const [first] = installations;
  assert.ok(first !== undefined);
  const account = (await first.json('account', 'create', '--name', 'a')).rows[0].account_id;
  await first.json('credit', 'grant', '--account', String(account), '--amount', '1000000');
  key = (await first.json('key', 'create', '--account', String(account), '--name', 'k')).rows[0].key;
});
after(async () => {
  for (const node of nodes) node.child.kill('SIGKILL');
  await Promise.all(nodes.map((node) => node.ended));
  await upstream?.close();
  await database?.drop();
  for (const installation of installations) installation.remove();
});

async function send(node: Serving | undefined): Promise<string> {
  const response = await fetch(`${node?.origin}/api/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'test/echo', messages: [{ role: 'user', content: '안녕' }] }),
  });
  await response.text();
  assert.equal(response.status, 200);
  return response.headers.get('x-generation-id') ?? '';
}

/** The ids of the generations in a backup. */
async function generationsIn(dir: string): Promise<ReadonlySet<string>> {
  const copy = await createTestDatabase();
  const target = createInstallationOn(copy.address);
  try {
    const restored = await target.json('restore', dir);
    assert.deepEqual([restored.code, restored.rows[0]?.differences], [0, 0], restored.err);
    return new Set((await target.json('generation', 'export')).rows.map((row) => row.id));
  } finally {
    target.remove();
    await copy.drop();
  }
}

async function backUp(name: string, ...flags: readonly string[]) {
  const [first] = installations;
  assert.ok(first !== undefined);
  const dir = join(first.folder, name);
  return { dir, done: await first.json('backup', '--to', dir, ...flags) };
}

test('it has every response that any node sent before it', async () => {
  for (const round of byTier([1], [1, 2, 3])) {
    const responded = await Promise.all(nodes.flatMap((node) => Array.from({ length: 5 }, () => send(node))));
    const { dir, done } = await backUp(`all-${round}`);
    assert.equal(done.code, 0, done.err);
    assert.deepEqual(done.rows[0].without_nodes, []);
    const there = await generationsIn(dir);
    for (const id of responded) assert.ok(there.has(id), id);
  }
});

test('it waits for what another node has acknowledged and not written to the database', async (t) => {
  const [, other] = nodes;
  await send(other);
  const holder = await connect(database.address);
  t.after(() => holder.end());
  await holder.query('BEGIN');
  await holder.query('SELECT FROM account_balance FOR UPDATE');
  const responded = await Promise.all(Array.from({ length: 5 }, () => send(other)));
  const requests = async (): Promise<number> =>
    (await holder.query('SELECT FROM flush_request')).rowCount ?? 0;
  const before = await requests();
  const backup = backUp('held');
  await eventually('the nodes are asked to write it', 60_000, async () =>
    (await requests()) > before ? true : null,
  );
  await holder.query('ROLLBACK');
  const { dir, done } = await backup;
  assert.equal(done.code, 0, done.err);
  const there = await generationsIn(dir);
  for (const id of responded) assert.ok(there.has(id), id);
});

test('it fails while a node is lost, names the node and its journal directory, and omits it with the option', async () => {
  const lost = nodes.at(-1);
  assert.ok(lost !== undefined);
  const responded = await send(nodes[0]);
  lost.child.kill('SIGKILL');
  await lost.ended;
  const { done } = await backUp('refused');
  assert.deepEqual([done.code, done.out], [1, '']);
  const address = new URL(lost.origin).host;
  const home = readFileSync(join(installations[nodes.length - 1]?.dataDir ?? '', 'node-id'), 'utf8').trim();
  assert.match(done.err, /the backup would miss settlements of these nodes/);
  assert.ok(done.err.includes(address) && done.err.includes(home), done.err);
  assert.match(done.err, /--without-nodes/);
  const without = await backUp('without', '--without-nodes');
  assert.equal(without.done.code, 0, without.done.err);
  assert.equal(without.done.rows[0].without_nodes.length, 1);
  const manifest = JSON.parse(readFileSync(join(without.dir, 'manifest.json'), 'utf8'));
  assert.ok(manifest.without_nodes[0].includes(address));
  assert.ok((await generationsIn(without.dir)).has(responded));
});

test(
  'it waits for a node that hangs until the node is lost, and queries a returned node again',
  fullOnly,
  async () => {
    const [, hanging] = nodes;
    assert.ok(hanging !== undefined);
    hanging.child.kill('SIGSTOP');
    const { done } = await backUp('hangs');
    assert.equal(done.code, 1);
    assert.ok(done.err.includes(new URL(hanging.origin).host), done.err);
    hanging.child.kill('SIGCONT');
    // The killed one returns under its identity, and settles its journal as it starts.
    const again = await installations[2]?.up('--config', join(installations[2].folder, 'naru.yaml'));
    assert.ok(again !== undefined);
    nodes.push(again);
    const responded = [await send(hanging), await send(again)];
    const { dir, done: made } = await backUp('again');
    assert.equal(made.code, 0, made.err);
    const there = await generationsIn(dir);
    for (const id of responded) assert.ok(there.has(id), id);
  },
);
