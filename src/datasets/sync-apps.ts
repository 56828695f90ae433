import { isoDay } from '../time/period.ts';
import { type AppPeriod, type AppRow, replaceAppPeriod } from './apps-sql.ts';
import { publish } from './publish.ts';
import { SourceFault } from './source.ts';
import { type AppPage, appPageOf, pageRows } from './source-shapes.ts';
import type { Synced, SyncParts } from './sync-parts.ts';
import { dropStagedPages, readStagedPages, stagePage } from './sync-sql.ts';

const dataset = 'app-rankings';
/** The source skips at most this many rows (spec:compat/11.5), so ranks up to 200 can be read. */
const maxOffset = 100;
/** How often the pages are read again when they are inconsistent, before it is a fault. */
const readings = 3;
/**
 * Staged pages are used as long as they are younger than this; the source's numbers settle within
 * hours.
 */
const stagedForMs = 6 * 3_600_000;

/** The pages are inconsistent: the source's data changed while they were read. */
class Changed extends Error {}

/**
 * Reads the source's latest period page by page and publishes it as a whole (spec:api/18). Pages
 * that an earlier sync staged are not read again. Throws as `SourceReader.read` does; then only
 * staged pages have changed.
 */
export async function syncApps({ database, reader, clock }: SyncParts): Promise<Synced> {
  const period = await readPeriod({ database, reader, clock });
  if (period === null) return { rows: 0, through: null };
  await publish(database, reader.holder, async (sql) => {
    await replaceAppPeriod(sql, period);
    await dropStagedPages(sql, dataset);
  });
  return { rows: period.rows.length, through: isoDay(period.endDay) };
}

async function readPeriod(parts: SyncParts): Promise<AppPeriod | null> {
  for (let reading = 1; ; reading += 1) {
    try {
      return await readPages(parts, await stagedPages(parts));
    } catch (error) {
      if (!(error instanceof Changed)) throw error;
      await parts.database.transaction((sql) => dropStagedPages(sql, dataset));
      if (reading === readings) throw new SourceFault('unreadable', `/datasets/${dataset}: ${error.message}`);
    }
  }
}

async function readPages(
  { database, reader, clock }: SyncParts,
  staged: readonly AppPage[],
): Promise<AppPeriod | null> {
  const pages = [...staged];
  let rows = assembled(pages);
  while (rows.length <= maxOffset) {
    const page = await reader.read(`/datasets/${dataset}`, queryAfter(pages, rows.length), appPageOf);
    // A short page does not mark the end: only an empty one does.
    if (page.rows.length === 0) break;
    pages.push(page);
    rows = assembled(pages);
    const fetched = { page: pages.length, fetchedAtMs: clock.now(), content: JSON.stringify(page) };
    await database.transaction((sql) => stagePage(sql, dataset, fetched));
  }
  const [first] = pages;
  if (first === undefined) return null;
  const { startDay, endDay, asOfMs } = first;
  const syncedAtMs = clock.now();
  return { startDay, endDay, asOfMs: asOfMs ?? syncedAtMs, syncedAtMs, rows };
}

/**
 * The first page is of the latest period; the others request the same one, whatever the time is by
 * then.
 */
function queryAfter([first]: readonly AppPage[], offset: number): Record<string, string> {
  const page = { sort: 'popular', limit: String(pageRows), offset: String(offset) };
  if (first === undefined) return page;
  return { ...page, start_date: isoDay(first.startDay), end_date: isoDay(first.endDay) };
}

/**
 * The rows of all pages, if they form one ranking: of one period, ranks from 1 without gaps, each
 * app once, most tokens first.
 */
function assembled(pages: readonly AppPage[]): readonly AppRow[] {
  const [first] = pages;
  if (pages.some((page) => page.startDay !== first?.startDay || page.endDay !== first.endDay))
    throw new Changed('pages are of different periods');
  const rows = pages.flatMap((page) => page.rows);
  if (rows.some((row, index) => row.rank !== index + 1)) throw new Changed('ranks are doubled or missing');
  if (new Set(rows.map((row) => row.appId)).size < rows.length) throw new Changed('an app has two ranks');
  const tokens = rows.flatMap((row) => (row.totalTokens === null ? [] : [BigInt(row.totalTokens)]));
  if (tokens.some((count, index) => count > (tokens[index - 1] ?? count)))
    throw new Changed('an app has more tokens than the one before it');
  return rows;
}

async function stagedPages({ database, clock }: SyncParts): Promise<readonly AppPage[]> {
  const staged = await readStagedPages(database, dataset);
  const oldestMs = clock.now() - stagedForMs;
  if (staged.some((page) => page.fetchedAtMs < oldestMs)) {
    await database.transaction((sql) => dropStagedPages(sql, dataset));
    return [];
  }
  return staged.map((page) => JSON.parse(page.content) as AppPage);
}
