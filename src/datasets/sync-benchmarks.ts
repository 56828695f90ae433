import { isoOf } from '../time/clock.ts';
import {
  type BenchmarkItem,
  type BenchmarkSnapshot,
  type BenchmarkSource,
  replaceBenchmarks,
} from './benchmarks-sql.ts';
import { publish } from './publish.ts';
import type { SourceQuery } from './source.ts';
import { type BenchmarkPage, benchmarkPageOf } from './source-benchmarks.ts';
import type { Synced, SyncParts } from './sync-parts.ts';
import { dropStagedPages, readStagedPages, stagePage } from './sync-sql.ts';

const dataset = 'benchmarks';
const stagedForMs = 6 * 3_600_000;

/**
 * The queries that together return everything: each names a publisher, and an arena is only
 * returned by its name.
 */
const parts: readonly SourceQuery[] = [
  { source: 'artificial-analysis' },
  { source: 'design-arena', arena: 'models' },
  { source: 'design-arena', arena: 'builders' },
  { source: 'design-arena', arena: 'agents' },
  { source: 'openrouter', include_run_config: 'true' },
  { source: 'openrouter', task_type: 'search', include_run_config: 'true' },
];

/** Reads all benchmarks and replaces the earlier ones. Throws as `SourceReader.read` does. */
export async function syncBenchmarks({ database, reader, clock }: SyncParts): Promise<Synced> {
  const oldestMs = clock.now() - stagedForMs;
  const staged = (await readStagedPages(database, dataset)).filter((page) => page.fetchedAtMs >= oldestMs);
  const pages = new Map(staged.map(({ page, content }) => [page, JSON.parse(content) as BenchmarkPage]));
  for (const [page, query] of parts.entries()) {
    if (pages.has(page)) continue;
    const fetched = await reader.read(`/${dataset}`, query, benchmarkPageOf);
    pages.set(page, fetched);
    const content = JSON.stringify(fetched);
    await database.transaction((sql) => stagePage(sql, dataset, { page, fetchedAtMs: clock.now(), content }));
  }
  const snapshot = assembled(pages, clock.now());
  await publish(database, reader.holder, async (sql) => {
    if (snapshot.items.length > 0) await replaceBenchmarks(sql, snapshot);
    await dropStagedPages(sql, dataset);
  });
  if (snapshot.items.length === 0) return { rows: 0, through: null };
  return { rows: snapshot.items.length, through: isoOf(snapshot.asOfMs).slice(0, 10) };
}

function assembled(pages: ReadonlyMap<number, BenchmarkPage>, syncedAtMs: number): BenchmarkSnapshot {
  const items = new Map<string, BenchmarkItem>();
  const sources: Record<string, BenchmarkSource> = {};
  let asOfMs: number | null = null;
  for (const [n, query] of parts.entries()) {
    const page = pages.get(n);
    for (const item of page?.items ?? []) items.set(identityOf(item), item);
    const source = query['source'] ?? '';
    if (page !== undefined && sources[source] === undefined) sources[source] = page.publisher;
    if (page !== undefined && page.asOfMs !== null) asOfMs = Math.min(asOfMs ?? page.asOfMs, page.asOfMs);
  }
  return { asOfMs: asOfMs ?? syncedAtMs, syncedAtMs, items: [...items.values()], sources };
}

/** Two queries may return the same item. */
function identityOf(item: BenchmarkItem): string {
  const members = [
    'source',
    'model_permaslug',
    'benchmark_type',
    'arena',
    'category',
    'search_engine',
    'search_surface',
  ];
  return JSON.stringify(members.map((member) => item[member] ?? null));
}
