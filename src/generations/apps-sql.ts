import type { Client } from 'pg';
import { int8ArrayOfNumbers, textArray, timestampArray } from '../store/binary-arrays.ts';

/**
 * The app that requests come from. The identity behind `id` is the address, or the name of an app
 * without one.
 */
export interface App {
  /** 48 bits of a hash, never 0: the same on every node, known before anything is stored. */
  readonly id: number;
  /** At most 100 UTF-16 units. */
  readonly name: string;
  /** http or https, at most 200; null when none is known. */
  readonly url: string | null;
}

/**
 * An account has at most this many apps of its own; the usage of further ones is counted together,
 * under `noApp`.
 */
export const maxApps = 1_000;
/** How many apps are cached; beyond it the cache is cleared. */
const maxKnown = 100_000;
/** The app under which usage without an app is counted. */
export const noApp = 0;

/** What is needed of a settlement. */
interface OfApp {
  readonly accountId: number;
  readonly settledAtMs: number;
  readonly app: App | null;
}

const selectApps = `
SELECT a.account_id, a.id FROM unnest($1::bigint[], $2::bigint[]) n (account_id, id)
JOIN app a ON a.account_id = n.account_id AND a.id = n.id WHERE a.account_id = ANY($1::bigint[])`;

/**
 * Two batches at once may each find room for the last app: then the limit is exceeded by what they
 * add.
 */
const insertApps = `
INSERT INTO app (account_id, id, name, url, first_seen_at)
SELECT account_id, id, name, url, at
FROM (SELECT *, row_number() OVER (PARTITION BY account_id ORDER BY id) AS nth
      FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::timestamptz[]) n (account_id, id, name, url, at)) n
LEFT JOIN (SELECT account_id, count(*) AS has FROM app WHERE account_id = ANY ($1::bigint[]) GROUP BY 1) h USING (account_id)
WHERE nth <= ${maxApps} - coalesce(has, 0)
ORDER BY account_id, id
ON CONFLICT DO NOTHING`;

/**
 * Apps that are known to be stored, of all accounts: they are never deleted, so they need no
 * further query.
 */
export class StoredApps {
  readonly #idsOf = new Map<number, Set<number>>();
  #size = 0;

  has(accountId: number, id: number): boolean {
    return this.#idsOf.get(accountId)?.has(id) === true;
  }

  add(accountId: number, id: number): void {
    if (this.#size >= maxKnown) this.clear();
    const ids = this.#idsOf.get(accountId);
    if (ids === undefined) this.#idsOf.set(accountId, new Set([id]));
    else ids.add(id);
    this.#size += 1;
  }

  /** Clears the cache: the database may be another one now. */
  clear(): void {
    this.#idsOf.clear();
    this.#size = 0;
  }
}

/** The apps that the rows of a batch are counted under. */
export interface CountedApps<Row> {
  /** The row's own app when it is stored, else `noApp`. */
  readonly idOf: (row: Row) => number;
  /** Call it once the transaction is committed: then these apps need no further query. */
  readonly noteStored: () => void;
}

/**
 * The app that each row is counted under: its own, which is stored when it is new and the account
 * has room for it, else `noApp`. Apps are never deleted, so a row that is settled again is counted
 * under the same one. Runs within the settlement's transaction; makes no query when all are among
 * `known`.
 */
export async function countedApps<Row extends OfApp>(
  client: Client,
  rows: readonly Row[],
  known: StoredApps | null,
): Promise<CountedApps<Row>> {
  const requested = new Map<
    string,
    { readonly accountId: number; readonly app: App; readonly atMs: number }
  >();
  for (const { accountId, app, settledAtMs } of rows) {
    if (app === null || known?.has(accountId, app.id) === true) continue;
    const name = nameOf(accountId, app.id);
    if (!requested.has(name)) requested.set(name, { accountId, app, atMs: settledAtMs });
  }
  const all = [...requested.values()];
  const stored = await storedOf(client, all);
  const unknown = all.filter(({ accountId, app }) => !stored.has(nameOf(accountId, app.id)));
  if (unknown.length > 0) {
    await client.query({
      name: 'settle-new-apps',
      text: insertApps,
      values: [
        int8ArrayOfNumbers(unknown.map(({ accountId }) => accountId)),
        int8ArrayOfNumbers(unknown.map(({ app }) => app.id)),
        textArray(unknown.map(({ app }) => app.name)),
        textArray(unknown.map(({ app }) => app.url)),
        timestampArray(unknown.map(({ atMs }) => atMs)),
      ],
    });
    // Another batch may have stored one of them meanwhile; which batch does not matter.
    for (const name of await storedOf(client, unknown)) stored.add(name);
  }
  const refused = new Set([...requested.keys()].filter((name) => !stored.has(name)));
  const isRefused = (accountId: number, app: App): boolean =>
    refused.size > 0 && refused.has(nameOf(accountId, app.id));
  return {
    idOf: ({ accountId, app }) => (app === null || isRefused(accountId, app) ? noApp : app.id),
    noteStored() {
      for (const { accountId, app } of all) if (!isRefused(accountId, app)) known?.add(accountId, app.id);
    },
  };
}

async function storedOf(
  client: Client,
  requested: readonly { readonly accountId: number; readonly app: App }[],
): Promise<Set<string>> {
  if (requested.length === 0) return new Set();
  const { rows } = await client.query<{ account_id: bigint; id: bigint }>({
    name: 'settle-apps',
    text: selectApps,
    values: [
      int8ArrayOfNumbers(requested.map(({ accountId }) => accountId)),
      int8ArrayOfNumbers(requested.map(({ app }) => app.id)),
    ],
  });
  return new Set(rows.map((row) => nameOf(row.account_id, row.id)));
}

function nameOf(accountId: number | bigint, id: number | bigint): string {
  return `${accountId}/${id}`;
}
