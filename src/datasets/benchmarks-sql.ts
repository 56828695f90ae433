import type { Sql } from '../store/sql.ts';

/**
 * A row of the benchmarks in OpenRouter's shape: its `source` determines its members
 * (spec:compat/11).
 */
export interface BenchmarkItem {
  readonly source: string;
  readonly model_permaslug: string;
  readonly [member: string]: unknown;
}

/** How the publisher of a benchmark is to be cited. */
export interface BenchmarkSource {
  readonly citation: string | null;
  readonly source_url: string | null;
}

/** All benchmarks at one time, in the order of the source. */
export interface BenchmarkSnapshot {
  readonly asOfMs: number;
  readonly syncedAtMs: number;
  readonly items: readonly BenchmarkItem[];
  /** By the `source` of the items. */
  readonly sources: Readonly<Record<string, BenchmarkSource>>;
}

/** The benchmarks of the last sync; null before. */
export async function readBenchmarks(sql: Sql): Promise<BenchmarkSnapshot | null> {
  const [row] = await sql.query<{ as_of: number; synced_at: number; items: string; sources: string }>(
    'SELECT as_of, synced_at, items, sources FROM benchmark_snapshot',
  );
  if (row === undefined) return null;
  return {
    asOfMs: row.as_of,
    syncedAtMs: row.synced_at,
    items: JSON.parse(row.items) as readonly BenchmarkItem[],
    sources: JSON.parse(row.sources) as BenchmarkSnapshot['sources'],
  };
}

/** Replaces the benchmarks. */
export async function replaceBenchmarks(sql: Sql, snapshot: BenchmarkSnapshot): Promise<void> {
  const { asOfMs, syncedAtMs, items, sources } = snapshot;
  await sql.query(
    `INSERT INTO benchmark_snapshot (id, as_of, synced_at, items, sources)
     VALUES (1, to_timestamp($1::float8 / 1000), to_timestamp($2::float8 / 1000), $3, $4)
     ON CONFLICT (id) DO UPDATE SET as_of = excluded.as_of, synced_at = excluded.synced_at, items = excluded.items, sources = excluded.sources`,
    [asOfMs, syncedAtMs, JSON.stringify(items), JSON.stringify(sources)],
  );
}
