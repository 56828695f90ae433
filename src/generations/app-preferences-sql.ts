import { column, nullable, number, type RowOf, recordOf } from '../store/record.ts';
import type { Sql } from '../store/sql.ts';

const ownedApps = recordOf({
  id: number('a.id'),
  /** The owner's name for it, else the recorded one. */
  name: column<string>('coalesce(p.name, a.name)'),
  /** What its first request stated. */
  recordedName: column<string>('a.name'),
  url: column<string | null>('a.url'),
  firstSeenMs: column<number>('a.first_seen_at'),
  /** The app that its usage counts for; null: for itself. */
  mergedInto: nullable(number('p.merged_into')),
  isHidden: column<boolean>('coalesce(p.is_hidden, false)'),
});

/** An app of an account as its owner sees it. */
export type OwnedApp = RowOf<typeof ownedApps>;

/** What an owner changes of an app; what is absent stays. */
export interface AppChange {
  /** Null: the recorded name. */
  readonly name?: string | null;
  readonly isHidden?: boolean;
  /** Null: its usage counts for itself again. */
  readonly mergedInto?: number | null;
}

/** `loop`: the target counts for this very app. */
export type AppChangeOutcome = 'done' | 'not_found' | 'loop';

/**
 * The apps of an account, merged and hidden ones included; at most 1,000 and what two batches add.
 */
export function readOwnedApps(sql: Sql, accountId: number): Promise<readonly OwnedApp[]> {
  return ownedApps.all(
    sql,
    `SELECT ${ownedApps.columns}
     FROM app a LEFT JOIN app_preference p ON p.account_id = a.account_id AND p.app_id = a.id
     WHERE a.account_id = $1 ORDER BY a.id`,
    [accountId],
  );
}

const foundApps = recordOf({
  id: number('a.id'),
  accountId: number('a.account_id'),
  name: column<string>('coalesce(p.name, a.name)'),
});

/** Up to `limit` apps of an account (null: of all) with this part of a name or an address, latest first. */
export function searchApps(
  sql: Sql,
  { text, accountId }: { readonly text: string; readonly accountId: number | null },
  limit: number,
): Promise<readonly RowOf<typeof foundApps>[]> {
  return foundApps.all(
    sql,
    `SELECT ${foundApps.columns}
     FROM app a LEFT JOIN app_preference p ON p.account_id = a.account_id AND p.app_id = a.id
     WHERE ($1::bigint IS NULL OR a.account_id = $1)
       AND position(lower($2) IN lower(concat_ws(' ', p.name, a.name, a.url))) > 0
     ORDER BY a.first_seen_at DESC, a.account_id, a.id LIMIT $3`,
    [accountId, text, limit],
  );
}

/** The names of the apps of an account, by their ids as text. */
export async function readAppNames(sql: Sql, accountId: number): Promise<ReadonlyMap<string, string>> {
  const rows = await sql.query<{ id: string; name: string }>(
    `SELECT a.id::text AS id, coalesce(p.name, a.name) AS name
     FROM app a LEFT JOIN app_preference p ON p.account_id = a.account_id AND p.app_id = a.id WHERE a.account_id = $1`,
    [accountId],
  );
  return new Map(rows.map(({ id, name }) => [id, name]));
}

/** How the requests of an account name their apps: what its owner renamed and merged. */
export class AppPreferences {
  readonly #changed: ReadonlyMap<number, { readonly id: number; readonly name: string | null }>;

  constructor(
    changed: readonly { readonly id: number; readonly countsAs: number; readonly name: string | null }[],
  ) {
    this.#changed = new Map(changed.map(({ id, countsAs, name }) => [id, { id: countsAs, name }]));
  }

  /** The app that a recorded one counts as, by the owner's name for it. */
  shown(app: { readonly id: number; readonly name: string }): { readonly id: number; readonly name: string } {
    const changed = this.#changed.get(app.id);
    return changed === undefined ? app : { id: changed.id, name: changed.name ?? app.name };
  }

  /** The app that one counts as: itself unless it was merged. */
  targetOf(appId: number): number {
    return this.#changed.get(appId)?.id ?? appId;
  }

  /** The ids of records that count as an app: its own and those of the apps merged into it. */
  idsOf(appId: number): readonly number[] {
    const target = this.targetOf(appId);
    const merged = [...this.#changed].flatMap(([id, { id: countsAs }]) => (countsAs === target ? [id] : []));
    return [...new Set([target, ...merged])];
  }
}

/**
 * What the owner of an account changed about its apps; read by its key, a row for each changed app.
 */
export async function readAppPreferences(sql: Sql, accountId: number): Promise<AppPreferences> {
  const rows = await sql.query<{ id: bigint; counts_as: bigint; name: string | null }>(
    `SELECT p.app_id AS id, t.id AS counts_as, CASE WHEN p.merged_into IS NULL THEN p.name ELSE coalesce(tp.name, t.name) END AS name
     FROM app_preference p
     JOIN app t ON t.account_id = p.account_id AND t.id = coalesce(p.merged_into, p.app_id)
     LEFT JOIN app_preference tp ON tp.account_id = p.account_id AND tp.app_id = p.merged_into
     WHERE p.account_id = $1`,
    [accountId],
  );
  return new AppPreferences(
    rows.map((row) => ({ id: Number(row.id), countsAs: Number(row.counts_as), name: row.name })),
  );
}

/**
 * Changes an app of an account. A target that is merged itself is followed, and apps that were
 * merged into this one follow it, so that a merged app always counts for one that is not. Run in a
 * transaction.
 */
export async function changeApp(
  sql: Sql,
  accountId: number,
  appId: number,
  change: AppChange,
): Promise<AppChangeOutcome> {
  const target = change.mergedInto ?? null;
  if (target === appId) return 'loop';
  const wanted = target === null ? [appId] : [appId, target];
  // One change of an account after the other, so that two merges never make a chain or a loop.
  const own = await sql.query<{ id: bigint }>(
    'SELECT id FROM app WHERE account_id = $1 ORDER BY id FOR NO KEY UPDATE',
    [accountId],
  );
  if (!wanted.every((id) => own.some((row) => Number(row.id) === id))) return 'not_found';
  if (target !== null && !(await merge(sql, accountId, appId, target))) return 'loop';
  await sql.query(
    `INSERT INTO app_preference AS p (account_id, app_id, name, is_hidden) VALUES ($1, $2, $3, coalesce($5, false))
     ON CONFLICT (account_id, app_id) DO UPDATE SET name = CASE WHEN $4 THEN excluded.name ELSE p.name END,
       is_hidden = coalesce($5, p.is_hidden), merged_into = CASE WHEN $6 THEN NULL ELSE p.merged_into END`,
    [
      accountId,
      appId,
      change.name ?? null,
      change.name !== undefined,
      change.isHidden ?? null,
      change.mergedInto === null,
    ],
  );
  return 'done';
}

/** False when the target counts for the app itself. */
async function merge(sql: Sql, accountId: number, appId: number, target: number): Promise<boolean> {
  const [row] = await sql.query<{ merged_into: bigint | null }>(
    'SELECT merged_into FROM app_preference WHERE account_id = $1 AND app_id = $2',
    [accountId, target],
  );
  const end = Number(row?.merged_into ?? target);
  if (end === appId) return false;
  await sql.query(
    `INSERT INTO app_preference (account_id, app_id, merged_into)
     SELECT $1, id, $3 FROM unnest($2::bigint[]) id
     ON CONFLICT (account_id, app_id) DO UPDATE SET merged_into = excluded.merged_into`,
    [accountId, [appId], end],
  );
  await sql.query('UPDATE app_preference SET merged_into = $3 WHERE account_id = $1 AND merged_into = $2', [
    accountId,
    appId,
    end,
  ]);
  return true;
}
