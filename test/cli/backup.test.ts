import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { checkBackup } from '../../src/backup/archive.ts';
import { folderFiles } from '../../src/backup/backup-files.ts';
import { OperatorError } from '../../src/errors/operator-error.ts';
import { createTestDatabase, type TestDatabase, urlOf } from '../harness/database.ts';
import { byTier, fullOnly, sample } from '../harness/tier.ts';
import { eventually } from '../harness/until.ts';
import { reply, startUpstream, type Upstream, usage } from '../harness/upstream.ts';
import { createInstallation, createInstallationOn, type Installation, type Serving } from './naru.ts';

/* `naru backup` under load and without a server, `naru restore` into an empty database. */

let upstream: Upstream;
let source: Installation;
let config: string;
let serving: Serving;
let account = 0;
let key = '';
const installations: Installation[] = [];
const databases: TestDatabase[] = [];

interface Manifest {
  readonly sequences: readonly { readonly table: string; readonly last: string | null }[];
  readonly tables: readonly { readonly name: string; readonly rows: number; readonly sha256: string }[];
}

const model = {
  id: 'test/echo',
  name: 'Echo',
  context_length: 4096,
  price: { prompt: 1, completion: 2, currency: 'KRW', per: 'token', confirm: true },
  candidates: [{ provider: 'up', model: 'echo' }],
};

const treeFor = (upstreamUrl: string): object => ({
  limits: { requests_per_second: 100_000, burst: 100_000 },
  providers: [{ slug: 'up', name: 'Up', dialect: 'openai', base_url: upstreamUrl, api_key: 'k' }],
  models: [model],
});

function newInstallation(): Installation {
  const installation = createInstallation({ hasCluster: true });
  installations.push(installation);
  return installation;
}

/**
 * Where a backup is restored to. In the quick tier it is a database of the runner's server, which
 * spares each command the start of an embedded one; the last test restores into an embedded one.
 */
async function newTarget(): Promise<Installation> {
  if (byTier(false, true)) return newInstallation();
  const database = await createTestDatabase();
  databases.push(database);
  const installation = createInstallationOn(database.address, treeFor(upstream.url));
  installations.push(installation);
  return installation;
}

before(async () => {
  upstream = await startUpstream();
  upstream.always(reply.chat('네', { usage: usage(10, 5) }));
  source = newInstallation();
  config = source.configure(treeFor(upstream.url));
  serving = await source.up('--config', config);
  account = (await source.json('account', 'create', '--name', '홍길동\t"\\N\n한 줄')).rows[0].account_id;
  await source.json('credit', 'grant', '--account', String(account), '--amount', '1000000');
  key = (await source.json('key', 'create', '--account', String(account), '--name', 'k')).rows[0].key;
});
after(async () => {
  await serving?.stop();
  await upstream?.close();
  for (const installation of installations) installation.remove();
  for (const database of databases) await database.drop();
});

/** Sends one request; returns the generation's id when the response is complete. */
async function send(origin: string): Promise<string> {
  const response = await fetch(`${origin}/api/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'test/echo', messages: [{ role: 'user', content: '안녕' }] }),
  });
  await response.text();
  assert.equal(response.status, 200);
  return response.headers.get('x-generation-id') ?? '';
}

/** Clients that send requests without a pause until they are stopped; `responded` grows. */
function load(): { readonly responded: string[]; readonly stop: () => Promise<void> } {
  const responded: string[] = [];
  let isOver = false;
  const clients = Array.from({ length: byTier(2, 6) }, async () => {
    while (!isOver) responded.push(await send(serving.origin));
  });
  return {
    responded,
    stop: async () => {
      isOver = true;
      await Promise.all(clients);
    },
  };
}

async function generations(installation: Installation): Promise<ReadonlyMap<string, string>> {
  const { rows } = await installation.json('generation', 'export', '--account', String(account));
  return new Map(rows.map((row) => [row.id, row.cost_krw]));
}

const readBackup = (folder: string) => checkBackup(folderFiles(folder), null);

/** Recomputes the checksums of a changed manifest, as an attacker would. */
function sign(folder: string): void {
  const file = join(folder, 'manifest.json');
  const own = (code: string): string => `"sha256": "${code}"\n}\n`;
  const blank = readFileSync(file, 'utf8').replace(/"sha256": "[0-9a-f]{64}"\n\}\n$/, own('0'.repeat(64)));
  const code = createHash('sha256').update(blank).digest('hex');
  writeFileSync(file, blank.replace(own('0'.repeat(64)), own(code)));
  const text = readFileSync(file);
  const { tables }: Partial<Manifest> = JSON.parse(text.toString('utf8'));
  const lines = (tables ?? []).map((table) => `${table?.sha256}  ${table?.name}.copy.gz\n`);
  const sum = createHash('sha256').update(text).digest('hex');
  writeFileSync(join(folder, 'SHA256SUMS'), `${lines.join('')}${sum}  manifest.json\n`);
}

function assertFails({ code, out, err }: Awaited<ReturnType<Installation['run']>>, message: RegExp): void {
  assert.deepEqual([code, out], [1, '']);
  assert.match(err, message);
  assert.doesNotMatch(err, /\n {4}at /);
}

describe('a backup', () => {
  let dir = '';
  /** The installation that the first test restores the backup to. */
  let copy: Installation;

  test('under load has every earlier response, and its ledger verifies', async () => {
    const clients = load();
    await eventually('the load', 20_000, () => (clients.responded.length > byTier(30, 100) ? true : null));
    const known = clients.responded.length;
    dir = join(source.folder, 'backup');
    const made = await source.json('backup', '--to', dir);
    const during = clients.responded.length;
    await clients.stop();
    assert.equal(made.code, 0, made.err);
    assert.ok(during > known, 'it was under load');
    assert.equal(made.rows[0].dir, dir);

    copy = await newTarget();
    const restored = await copy.json('restore', dir);
    assert.deepEqual([restored.code, restored.rows[0].differences], [0, 0], restored.err);
    assert.equal(restored.rows[0].rows, made.rows[0].rows);
    const there = await generations(copy);
    for (const id of clients.responded.slice(0, known)) assert.ok(there.has(id), id);
    assert.ok(there.size < clients.responded.length, 'what came after it is not in it');
    const verdict = await copy.json('ledger', 'verify');
    assert.deepEqual([verdict.code, verdict.rows[0].ok, verdict.rows[0].generations], [0, true, there.size]);
    // Twenty won each, as the live ledger has it for the same generations.
    const [shown] = (await copy.json('account', 'show', String(account))).rows;
    assert.equal(shown.balance_krw, `${1_000_000 - 20 * there.size}.000000`);
    assert.equal(shown.name, '홍길동\t"\\N\n한 줄');
    const live = await generations(source);
    for (const [id, cost] of there) assert.equal(live.get(id), cost);
  });

  test('detects a ledger that was rewritten since, chains included', async () => {
    const agrees = await copy.json('ledger', 'verify', '--against', dir);
    assert.deepEqual([agrees.code, agrees.rows[0].ok], [0, true], agrees.err);
    // The live ledger has grown from it; a new one has not.
    assert.equal((await source.json('ledger', 'verify', '--against', dir)).rows[0].ok, true);
    const other = await newTarget();
    const id = (await other.json('account', 'create', '--name', 'x')).rows[0].account_id;
    await other.json('credit', 'grant', '--account', String(id), '--amount', '1000000');
    const differs = await other.json('ledger', 'verify', '--against', dir);
    assert.deepEqual([differs.code, differs.rows[0].ok], [1, false], differs.err);
    assert.match(differs.out, /has the state of the backup/);
  });

  test('is restored to a working server: keys work, ids are new, the ledger verifies', async () => {
    const target = copy;
    const before = await generations(target);
    const second = await target.up(...byTier([], ['--config', config]));
    assert.doesNotMatch(second.out(), /sk-naru/, 'the demo account was restored and is not made again');
    const id = await send(second.origin);
    await eventually('the charge', 20_000, async () => ((await generations(target)).has(id) ? true : null));
    assert.equal((await generations(target)).size, before.size + 1);
    const next = (await target.json('account', 'create', '--name', 'next')).rows[0].account_id;
    assert.ok(next > account, `${next}`);
    const granted = await target.json('credit', 'grant', '--account', String(next), '--amount', '5');
    assert.equal(granted.code, 0, granted.err);
    assert.equal((await target.json('key', 'create', '--account', String(next), '--name', 'n')).code, 0);
    assert.equal((await target.json('ledger', 'verify')).rows[0].ok, true);
    assertFails(await target.run('restore', dir), /is not empty \(\w+ has rows\)/);
    assert.equal(await second.stop(), 0);
    assertFails(await target.run('restore', dir), /is not empty/);
  });

  test("of an operator's PostgreSQL server works in both directions", fullOnly, async () => {
    const database = await createTestDatabase();
    const url = urlOf(database.address);
    const target = newInstallation();
    const file = target.configure({ database: { url } });
    try {
      const restored = await target.json('restore', dir, '--config', file);
      assert.deepEqual([restored.code, restored.rows[0]?.differences], [0, 0], restored.err);
      const again = join(target.folder, 'again');
      const made = await target.json('backup', '--to', again, '--config', file);
      assert.equal(made.code, 0, made.err);
      const tables = (folder: string) =>
        JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')).tables;
      // A backup itself leaves a flush request, and a restore removes the nodes that responded to
      // it, with their leases.
      // A database that is restored has an identity of its own, and its restore in the audit log.
      const own = [
        ...['change_event', 'gateway_node', 'spend_share', 'flush_request', 'flush_answer'],
        ...['database_identity', 'audit_entry'],
      ];
      const withoutOrder = (folder: string) =>
        tables(folder)
          .filter(({ name }: { name: string }) => !own.includes(name))
          .map((table: { sha256: string }) => ({ ...table, sha256: '' }));
      assert.deepEqual(withoutOrder(again), withoutOrder(dir));
    } finally {
      await database.drop();
    }
  });

  test('is readable by its owner only, and needs a directory of its own', async () => {
    assert.equal(statSync(dir).mode & 0o777, 0o700);
    for (const file of readdirSync(dir)) assert.equal(statSync(join(dir, file)).mode & 0o077, 0, file);
    assertFails(await source.run('backup', '--to', dir), /is not empty: choose a new or empty folder/);
  });

  test('is reported as damaged if any byte is changed', async (t) => {
    const folder = join(source.folder, 'bytes');
    cpSync(dir, folder, { recursive: true });
    await readBackup(folder);
    execFileSync('sha256sum', ['--check', '--strict', '--quiet', 'SHA256SUMS'], { cwd: folder });
    let flipped = 0;
    for (const file of readdirSync(folder)) {
      const bytes = readFileSync(join(folder, file));
      // Every byte of the metadata and of small tables; a sample of large ones, and of all in the
      // quick tier.
      const step = Math.max(
        1,
        Math.floor(bytes.length / (file.endsWith('.gz') ? byTier(1, 60) : byTier(10, Infinity))),
      );
      for (let at = 0; at < bytes.length; at += step) {
        const changed = Buffer.from(bytes);
        changed[at] = (bytes[at] ?? 0) ^ (1 << (at % 8));
        writeFileSync(join(folder, file), changed);
        await assert.rejects(readBackup(folder), OperatorError, `${file}: byte ${at}`);
        flipped += 1;
      }
      writeFileSync(join(folder, file), bytes);
    }
    await readBackup(folder);
    t.diagnostic(`${flipped} bytes`);
  });

  test('that is damaged, unfinished or of another schema is rejected, and nothing of it is restored', async () => {
    const target = await newTarget();
    const spoiltCopy = (name: string, spoil: (folder: string) => void): string => {
      const folder = join(target.folder, name);
      cpSync(dir, folder, { recursive: true });
      spoil(folder);
      return folder;
    };
    const edit = (folder: string, change: (manifest: Manifest) => object): void => {
      const file = join(folder, 'manifest.json');
      const manifest: Manifest = JSON.parse(readFileSync(file, 'utf8'));
      writeFileSync(file, `${JSON.stringify({ ...manifest, ...change(manifest) }, null, 2)}\n`);
      sign(folder);
    };
    const last = 'price_version.copy.gz';
    const oneMore = (table: Manifest['tables'][number]) => ({ ...table, rows: table.rows + 1 });
    const spoilt: readonly (readonly [string, (folder: string) => void, RegExp])[] = [
      ['cut', (folder) => truncateSync(join(folder, last), 30), /is damaged; nothing was restored/],
      ['swapped', (folder) => cpSync(join(folder, 'account.copy.gz'), join(folder, last)), /is damaged/],
      ['gone', (folder) => rmSync(join(folder, last)), /is damaged/],
      [
        'unsigned',
        (folder) =>
          writeFileSync(join(folder, 'manifest.json'), `${readFileSync(join(folder, 'manifest.json'))} `),
        /manifest.json is damaged: its checksum does not match; nothing was restored/,
      ],
      [
        'sums',
        (folder) => writeFileSync(join(folder, 'SHA256SUMS'), ''),
        /the checksums of .* do not match its manifest.json: one of them is damaged; nothing was restored/,
      ],
      [
        'numbers',
        (folder) =>
          edit(folder, ({ sequences }) => ({
            sequences: sequences.map((one) => (one.table === 'account' ? { ...one, last: null } : one)),
          })),
        /the sequence of account is behind its rows/,
      ],
      ['counts', (folder) => edit(folder, ({ tables }) => ({ tables: tables.map(oneMore) })), /is damaged/],
      [
        'partitions',
        (folder) => edit(folder, () => ({ partitions: [{ name: 'x', of: 'account', bound: '' }] })),
        /manifest is damaged/,
      ],
      ['ids', (folder) => edit(folder, () => ({ sequences: [] })), /manifest is damaged/],
      [
        'nothing',
        (folder) => edit(folder, () => ({ tables: [null] })),
        /manifest.json is unreadable: it is damaged or from another version of Naru/,
      ],
      [
        'folder',
        (folder) => {
          rmSync(join(folder, last));
          mkdirSync(join(folder, last));
        },
        /is damaged; nothing was restored/,
      ],
      ['schema', (folder) => edit(folder, () => ({ migrations: [] })), /has the schema of Naru/],
      [
        'table',
        (folder) => edit(folder, ({ tables }) => ({ tables: tables.slice(1) })),
        /manifest is damaged/,
      ],
      ['format', (folder) => edit(folder, () => ({ format: 2 })), /damaged or from another version of Naru/],
      [
        'json',
        (folder) => writeFileSync(join(folder, 'manifest.json'), '{'),
        /damaged or from another version/,
      ],
      ['unfinished', (folder) => rmSync(join(folder, 'SHA256SUMS')), /an unfinished backup/],
      ['without', (folder) => rmSync(join(folder, 'manifest.json')), /an unfinished backup/],
    ];
    for (const [name, spoil, message] of sample(spoilt, 3))
      assertFails(await target.run('restore', spoiltCopy(name, spoil)), message);
    assertFails(await target.run('restore', target.folder), /is not a backup/);
    assertFails(await target.run('restore', join(target.folder, 'none')), /no folder /);
    const [row] = (await target.json('ledger', 'verify')).rows;
    assert.deepEqual([row.ok, row.accounts, row.generations], [true, 0, 0]);
    const { code, err } = await target.run('restore', dir);
    assert.equal(code, 0, err);
  });

  test('without a server includes what a killed server acknowledged and had not settled', async () => {
    const responded = await Promise.all(Array.from({ length: 20 }, () => send(serving.origin)));
    serving.child.kill('SIGKILL');
    await serving.ended;
    const folder = join(source.folder, 'after-kill');
    const made = await source.json('backup', '--to', folder);
    assert.equal(made.code, 0, made.err);
    const target = newInstallation();
    assert.equal((await target.run('restore', folder, '--config', config)).code, 0);
    const there = await generations(target);
    for (const id of responded) assert.ok(there.has(id), id);
    assert.equal((await source.json('ledger', 'verify')).rows[0].ok, true);
    assert.equal((await generations(source)).size, there.size);
    if (byTier(true, false)) return;
    serving = await source.up('--config', config);
    assert.equal((await generations(source)).size, there.size);
  });
});
