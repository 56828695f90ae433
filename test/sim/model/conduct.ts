import { createHash } from 'node:crypto';
import type { Client } from 'pg';
import { findBalances, insertAccount } from '../../../src/accounts/accounts-sql.ts';
import {
  findKeyByHash,
  findKeyById,
  findKeysById,
  insertKey,
  readKeySpend,
  readKeySpends,
  setRevoked,
  updateOwnKey,
} from '../../../src/accounts/keys-sql.ts';
import { publishPrices, readCurrentEdition } from '../../../src/catalogue/publish.ts';
import type { Config } from '../../../src/config/config.ts';
import { findGeneration } from '../../../src/generations/generations-sql.ts';
import { adjustCredit, refundGeneration } from '../../../src/ledger/corrections.ts';
import { expireCredit, grantCredit } from '../../../src/ledger/credit.ts';
import { post } from '../../../src/ledger/ledger-sql.ts';
import { lotsDue } from '../../../src/ledger/lots-sql.ts';
import { settleBatch } from '../../../src/ledger/settlement-sql.ts';
import { krwOfMicro } from '../../../src/money/krw.ts';
import {
  dropLeases,
  dropLeasesOf,
  type LeaseSubject,
  leasesOfOthers,
  lockLeases,
  writeLeases,
} from '../../../src/nodes/credit-leases-sql.ts';
import {
  beatAndList,
  claimHome,
  listNodes,
  noteAddress,
  noteAlive,
  removeLostNodes,
  removeNode,
} from '../../../src/nodes/nodes-sql.ts';
import { changesAfter, lookedBack, recordChange, type SeenChanges } from '../../../src/store/changes.ts';
import type { Database } from '../../../src/store/database.ts';
import { OneServer } from '../../../src/store/placement/one-server.ts';
import { SerialConnection } from '../../../src/store/serial-connection.ts';
import { type Sql, sqlOver } from '../../../src/store/sql.ts';
import { type GenerationUuid, withLead } from '../../../src/wire/ids/generation-id.ts';
import { testConfig } from '../../harness/gateway.ts';
import { columnsOf, modelColumns } from './columns.ts';
import { execute } from './step.ts';
import { type TableName, tableNames } from './tables.ts';
import { Store, type Transaction } from './transactions.ts';

/** One of the two that are compared: PostgreSQL, or the model of it. */
export interface Side {
  readonly sql: Sql;
  readonly client: Client;
  readonly database: Database;
  /** A reader of the changes. */
  readonly reader: { seen: SeenChanges };
  /** Makes a node silent for this long. */
  readonly age: (nodeId: number, ms: number) => Promise<void>;
  /** Every row of every table, as text. */
  readonly rows: () => Promise<readonly string[]>;
  /** Another connection to the same, for reading. */
  readonly beside: () => Side;
}

/** Three small numbers choose what an operation is about. */
export interface Draw {
  readonly a: number;
  readonly b: number;
  readonly c: number;
}

const atMs = Date.UTC(2026, 10, 23, 3);
const day = 20_780;

function hashOf(n: number): never {
  return createHash('sha256').update(`key ${n}`).digest('hex') as never;
}

/** Three configurations to publish, with other prices and candidates. */
const catalogues = [1, 2, 3].map((prompt) =>
  testConfig({
    models: ['sim/a', 'sim/b'].slice(0, prompt).map((id) => ({
      id,
      upstreams: ['http://one.test', 'http://two.test'].slice(0, prompt),
      model: { price: { prompt, completion: 1, per: 'token', confirm: true } },
    })),
  }),
);

/** Few generations of each account, so that they collide. */
function uuidOf(n: number, accountId: number): GenerationUuid {
  return withLead(`019ab0000000700080000000${String(n).padStart(8, '0')}` as GenerationUuid, accountId);
}

const kinds = ['account', 'key'] as const;

/** An account, or a key, which is always said to be of the same account. */
function subjectOf(kind: number, n: number): LeaseSubject {
  const subject = (n % 3) + 1;
  const isKey = kinds[kind % 2] === 'key';
  return { kind: isKey ? 'key' : 'account', subject, accountId: isKey ? (subject % 3) + 1 : subject };
}

/**
 * Every operation for both sides, by name; each is one function of the store, or one that is built
 * of them.
 */
export const operations = {
  account: ({ sql }, { a }) => insertAccount(sql, { name: `account ${a}`, email: null, createdAtMs: atMs }),
  key: ({ database }, { a, b, c }) =>
    database.transaction((sql) =>
      insertKey(sql, {
        hash: hashOf(a + 10 * b),
        accountId: (c % 3) + 1,
        kind: 'inference',
        name: 'key',
        label: 'key',
        limitMicro: b % 2 === 0 ? null : BigInt(b) * 1_000_000n,
        limitReset: 'never',
        restrictions: { rpm_limit: a % 2 === 0 ? null : a },
        expiresAtMs: null,
        createdAtMs: atMs,
      }),
    ),
  balances: ({ sql }, { a, b }) => findBalances(sql, [(a % 3) + 1, (b % 3) + 1]),
  'key by hash': ({ sql }, { a, b }) => findKeyByHash(sql, hashOf(a + 10 * b)),
  'key by id': ({ sql }, { a }) => findKeyById(sql, a),
  'keys by id': async ({ sql }, { a, b }) =>
    (await findKeysById(sql, [a, b])).toSorted((one, other) => one.id - other.id),
  'spend of a key': ({ sql }, { a, b }) =>
    readKeySpend(sql, { id: (a % 3) + 1, accountId: (b % 3) + 1 }, day + (a % 4)),
  'spend of keys': async ({ sql }, { a, b }) => {
    const keys = [1, 2, 3].map((id) => ({ id, accountId: (b % 3) + 1 }));
    return [...(await readKeySpends(sql, keys, day + (a % 4)))].toSorted(([one], [other]) => one - other);
  },
  revoke: ({ sql }, { a, b, c }) => setRevoked(sql, { accountId: (b % 3) + 1, id: (a % 3) + 1 }, atMs + c),
  'change a key': ({ sql }, { a, b, c }) =>
    updateOwnKey(
      sql,
      (c % 3) + 1,
      hashOf(a + 10 * b),
      [
        { limitMicro: BigInt(c) },
        {
          userDisabled: c > 4,
          name: 'new',
          restrictions: { rpm_limit: c > 6 ? null : c, allowed_models: ['m'] },
        },
        { expiresAtMs: c > 4 ? null : atMs + c * 1_000 },
      ][c % 3] ?? {},
      atMs + c,
    ),
  grant: ({ database }, { a, b, c }) =>
    grantCredit(
      database,
      {
        accountId: (a % 3) + 1,
        kind: 'topup',
        amount: krwOfMicro(BigInt(b + 1) * 10_000_000n),
        expiresAtMs: c % 3 === 0 ? atMs + c * 1_000 : null,
        idempotencyKey: c % 2 === 0 ? `key ${b}` : null,
        memo: null,
      },
      atMs,
    ),
  expire: ({ database }, { a }) => expireCredit(database, atMs + a * 1_000),
  adjust: ({ database }, { a, b, c }) =>
    adjustCredit(
      database,
      {
        accountId: (a % 3) + 1,
        amount: krwOfMicro(BigInt(c === 4 ? 5 : c - 4) * 1_000_000n),
        reason: 'because',
        idempotencyKey: b % 2 === 0 ? `adjustment ${b}` : null,
      },
      atMs,
    ),
  refund: ({ database }, { a, b, c }) =>
    refundGeneration(
      database,
      {
        generation: uuidOf(a, (c % 3) + 1),
        amount: b % 3 === 0 ? null : krwOfMicro(BigInt(b) * 1_000_000n),
        reason: 'because',
        toKeyLimit: a % 2 === 0,
        idempotencyKey: c % 2 === 0 ? `refund ${c}` : null,
      },
      atMs,
    ),
  record: ({ sql }, { a, b }) => findGeneration(sql, (b % 3) + 1, uuidOf(a, (b % 3) + 1)),
  move: ({ sql }, { a, b, c }) =>
    post(sql, [{ accountId: (a % 3) + 1, credits: BigInt(b - 2), usage: BigInt(c - 1), lotApplied: 0n }], []),
  settle: async ({ client }, { a, b, c }) => {
    const rows = Array.from({ length: (b % 4) + 1 }, (_none, n) => {
      const cost = n === c % 4 ? 0n : BigInt((a + n) * 1_000_000);
      return {
        uuid: uuidOf((a + n * b) % 12, (a % 3) + 1),
        accountId: (a % 3) + 1,
        keyId: (b % 3) + 1,
        createdAtMs: atMs,
        settledAtMs: atMs + n,
        day: day + (c % 4),
        status: 200,
        errorType: null,
        model: c % 2 === 0 ? 'sim/model' : null,
        provider: null,
        finishReason: 'stop',
        promptTokens: a,
        completionTokens: b,
        cost,
        priceVersion: 1,
        detail: '{"request_id": "x"}',
        app: c % 3 === 0 ? { id: a + 1, name: `app ${a}`, url: null } : null,
      };
    });
    const { balances, replayed } = await settleBatch(client, rows, {
      nodeId: c < 5 ? (c % 3) + 1 : null,
      leftovers: c % 4 === 1 ? rows : [],
    });
    return [balances.toSorted((x, y) => x.accountId - y.accountId), [...replayed].sort()];
  },
  register: async ({ database }, { a, b }) => {
    const home = `00000000-0000-4000-8000-00000000000${a % 4}`;
    const session = `00000000-0000-4000-9000-00000000000${b % 3}`;
    const claim = { home, session, process: `process ${b}`, address: 'x', keepsCharges: b % 2 === 0 };
    const outcome = await claimHome(database, claim, ({ silentMs }) => silentMs >= 5_000);
    return outcome.kind === 'registered' ? outcome.id : outcome.holder.session;
  },
  alive: ({ sql }, { a, b }) => noteAlive(sql, (a % 4) + 1, b),
  beat: async ({ sql }, { a, b, c }) => {
    const { nodes, isListed } = await beatAndList(sql, (a % 4) + 1, { edition: b, differences: c });
    return [
      isListed,
      nodes.map(({ id, knows, edition, differences, silentMs }) => [
        ...[id, knows, edition, differences, silentMs > 4_000],
      ]),
    ];
  },
  'due lots': async ({ sql }, { a }) => (await lotsDue(sql, atMs + a * 1_000)).isDue,
  address: ({ sql }, { a, b }) => noteAddress(sql, (a % 4) + 1, `address ${b}`),
  nodes: async ({ sql }) =>
    (await listNodes(sql)).map(({ id, address, knows, silentMs }) => [id, address, knows, silentMs > 4_000]),
  age: ({ age }, { a, b }) => age((a % 4) + 1, b % 2 === 0 ? 60_000 : 4_000_000),
  'remove a node': ({ database }, { a }) => removeNode(database, (a % 4) + 1),
  'forget the lost': ({ database }) => removeLostNodes(database, 3_600_000),
  lock: ({ sql }, { a, b }) => lockLeases(sql, subjectOf(b, a)),
  'leases of others': ({ sql }, { a, b, c }) => leasesOfOthers(sql, (a % 4) + 1, subjectOf(b, c)),
  'write shares': ({ sql }, { a, b, c }) =>
    writeLeases(sql, (a % 4) + 1, [
      { ...subjectOf(b, c), amount: BigInt(b - 1) * 1_000_000n },
      { ...subjectOf(b + 1, a), amount: BigInt(c) },
    ]),
  'drop shares': ({ sql }, { a, b, c }) => dropLeases(sql, (a % 4) + 1, [subjectOf(b, c)]),
  'drop shares of accounts': ({ sql }, { a, b }) => dropLeasesOf(sql, (a % 4) + 1, [b, b + 1]),
  publish: async ({ database }, { a, b, c }) => {
    const { edition, changes, isPublished } = await publishPrices(database, catalogues[a % 3] as Config, {
      atMs: atMs + b,
      announce: b % 2 === 0 ? 'catalogue' : 'edition',
      permit: async () => c > 2,
    });
    const named = changes.map(({ change, model, candidate, before }) => [
      change,
      model,
      candidate,
      before?.id,
    ]);
    return [edition, isPublished, named];
  },
  edition: async ({ sql }) => {
    const { edition, published } = await readCurrentEdition(sql);
    return [edition?.id, published.map(({ id, price }) => [id, price.prompt])];
  },
  change: ({ sql }, { a }) => recordChange(sql, 'key', a),
  changes: async ({ client, reader }, { a }) => {
    const { changes, isLast, seen } = await changesAfter(client, reader.seen, a);
    reader.seen = seen;
    return { changes, isLast };
  },
  'look back': async ({ reader }: Side) => {
    reader.seen = lookedBack(reader.seen);
  },
} satisfies Readonly<Record<string, (side: Side, draw: Draw) => Promise<unknown>>>;

/** These open their own transaction. */
const whole = new Set([
  ...[
    'key',
    'publish',
    'grant',
    'expire',
    'adjust',
    'refund',
    'settle',
    'register',
    'remove a node',
    'forget the lost',
    'age',
  ],
]);

/** One side's operation: its result, or the error that it rejects with, as text. */
export async function conductOf(
  side: Side,
  step: Draw & { readonly name: string; readonly fate: 'kept' | 'rolled back' },
): Promise<string> {
  const operation = operations[step.name as keyof typeof operations] as (
    side: Side,
    draw: Draw,
  ) => Promise<unknown>;
  const isUndone = step.fate === 'rolled back' && !whole.has(step.name);
  try {
    if (isUndone) await side.sql.query('BEGIN');
    const result = await operation(side, step);
    if (isUndone) await side.sql.query('ROLLBACK');
    return textOf(result);
  } catch (error) {
    await side.sql.query('ROLLBACK');
    return `error ${(error as { readonly code?: string }).code ?? String(error)}`;
  }
}

function textOf(value: unknown): string {
  return (
    JSON.stringify(value, (_name, part: unknown) => (typeof part === 'bigint' ? `${part}n` : part)) ??
    'nothing'
  );
}

/** PostgreSQL behind this client, or without one a new model. */
export function sideOf(client?: Client): Side {
  return client === undefined ? modelSide(new Store(() => atMs)) : realSide(client);
}

function realSide(client: Client): Side {
  const sql = sqlOver(client);
  return {
    sql,
    client,
    database: databaseOver(sql),
    reader: { seen: '1:1:' },
    age: async (nodeId, ms) => {
      await sql.query(
        "UPDATE gateway_node SET seen_at = now() - $2::float8 * interval '1 millisecond' WHERE id = $1",
        [nodeId, ms],
      );
    },
    rows: async () => {
      const lines: string[] = [];
      for (const name of tableNames) {
        const rows = await sql.query<Record<string, unknown>>(`SELECT ${columnsOf[name]} FROM ${name}`);
        lines.push(...rows.map((row) => lineOf(name, Object.values(row))));
      }
      return lines.sort();
    },
    beside: () => realSide(client),
  };
}

function modelSide(store: Store): Side {
  let tx: Transaction | null = null;
  let last: Promise<unknown> = Promise.resolve();
  /** Like a server: one after the other, also for concurrent operations. */
  const query = (sent: unknown): ReturnType<typeof response> => {
    const result = last.then(() => response(sent));
    last = result.catch(() => {});
    return result;
  };
  const response = async (sent: unknown): Promise<{ readonly rows: unknown }> => {
    if (sent === 'BEGIN') tx = store.begin();
    else if (sent === 'ROLLBACK' || sent === 'COMMIT') {
      if (sent === 'COMMIT' && tx?.failed === false) tx.commit();
      else tx?.rollback();
      tx = null;
    } else if (tx !== null) return { rows: await execute(tx, sent) };
    else {
      const own = store.begin();
      try {
        const rows = await execute(own, sent);
        own.commit();
        return { rows };
      } finally {
        own.rollback();
      }
    }
    return { rows: [] };
  };
  const client = { query } as unknown as Client;
  const sql = sqlOver(client);
  return {
    sql,
    client,
    database: databaseOver(sql),
    reader: { seen: '1:1:' },
    age: async (nodeId, ms) => {
      const row = store.tables.gateway_node.get(String(nodeId));
      if (row !== undefined) store.tables.gateway_node.set(String(nodeId), { ...row, seen_at: atMs - ms });
    },
    rows: async () =>
      tableNames
        .flatMap((name) =>
          [...(store.tables[name] as Map<string, object>).values()].map((row) =>
            lineOf(
              name,
              modelColumns[name].map((column) => (row as Readonly<Record<string, unknown>>)[column] ?? null),
            ),
          ),
        )
        .sort(),
    beside: () => modelSide(store),
  };
}

function lineOf(table: TableName, values: readonly unknown[]): string {
  return `${table} ${values.map((value) => (Buffer.isBuffer(value) ? value.toString('hex') : String(value).replaceAll('-', ''))).join(' ')}`;
}

/** Transactions over one connection, none of which is retried. */
function databaseOver(sql: Sql): Database {
  const serial = new SerialConnection(() => Promise.reject(new Error('nothing runs in order here')));
  return {
    query: sql.query,
    placement: new OneServer({ serial, database: sql }),
    transaction: async <T>(work: (sql: Sql) => Promise<T>): Promise<T> => {
      await sql.query('BEGIN');
      const result = await work(sql);
      await sql.query('COMMIT');
      return result;
    },
  } as unknown as Database;
}
