import { isoDay } from '../time/period.ts';
import { type Day, firstDay, lastCompletedDay, weekStart } from './days.ts';
import { readSeriesProgress, writeModelSeries } from './models-sql.ts';
import { publish } from './publish.ts';
import { allSeries, type Series } from './series.ts';
import { SourceFault } from './source.ts';
import { type ModelPage, modelPageOf } from './source-shapes.ts';
import type { Synced, SyncParts } from './sync-parts.ts';

/**
 * Days that are read again at every sync, because the source still updates them. Two weeks for
 * weekly series.
 */
const readAgain = { day: 3, week: 14 };
/** Days of one request: about 5,000 rows, and a year of weeks. */
const windowDays = { day: 92, week: 364 };

/**
 * Brings every series up to the last day that is over, oldest window first. Each window is
 * published as a whole, and the next sync continues after the last one. Throws as
 * `SourceReader.read` does.
 */
export async function syncModels(parts: SyncParts): Promise<Synced> {
  const lastDay = lastCompletedDay(parts.clock.now());
  let rows = 0;
  for (const series of allSeries) {
    const added = await syncSeries(parts, series, lastDay);
    rows += added;
  }
  return { rows, through: isoDay(lastDay) };
}

async function syncSeries(parts: SyncParts, series: Series, lastDay: Day): Promise<number> {
  const { database, reader, clock } = parts;
  const progress = await readSeriesProgress(database, series.name);
  const fresh = progress === null ? firstDay : progress.throughDay + 1 - readAgain[series.grain];
  let rows = 0;
  for (let from = beginning(series, fresh); from <= lastDay; from += windowDays[series.grain]) {
    const to = Math.min(lastDay, from + windowDays[series.grain] - 1);
    const window = { start_date: isoDay(Math.max(firstDay, from)), end_date: isoDay(to) };
    const page = await reader.read('/datasets/rankings-daily', { ...series.query, ...window }, (json) =>
      inside(modelPageOf(json), beginning(series, from), to),
    );
    const syncedAtMs = clock.now();
    await publish(database, reader.holder, (sql) =>
      writeModelSeries(sql, series.name, {
        rows: page.rows,
        throughDay: to,
        asOfMs: page.asOfMs ?? syncedAtMs,
        syncedAtMs,
      }),
    );
    rows += page.rows.length;
  }
  return rows;
}

/** The start, at the source, of a window that begins on `day`: weeks begin on their Monday. */
function beginning(series: Series, day: Day): Day {
  const notBefore = Math.max(firstDay, day);
  return series.grain === 'week' ? weekStart(notBefore) : notBefore;
}

function inside(page: ModelPage, from: Day, to: Day): ModelPage {
  if (page.rows.some(({ day }) => day < from || day > to))
    throw new SourceFault('unreadable', '/datasets/rankings-daily: a row is of a day that was not requested');
  return page;
}
