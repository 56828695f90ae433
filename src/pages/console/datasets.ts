import { z } from 'zod';
import { utcDayAt } from '../../datasets/days.ts';
import { countRows } from '../../datasets/periods-sql.ts';
import { defaultPace } from '../../datasets/source.ts';
import { datasetNames, nextSyncMs } from '../../datasets/sync.ts';
import { readSource, readSyncState, requestSync } from '../../datasets/sync-sql.ts';
import { pageMessages } from '../../errors/page-messages.ts';
import { PageRefusal } from '../../errors/page-refusal.ts';
import { isoOf, isoOrNull } from '../../time/clock.ts';
import type { ConsoleContext } from '../context.ts';
import { pageRoute } from '../page-route.ts';
import { instant } from '../shapes.ts';
import { actorOf } from './operators.ts';

const name = z.enum(datasetNames);

/** The datasets and their source (A10). */
export function datasetPages(parts: ConsoleContext) {
  return [statePage(parts), syncPage(parts)];
}

function statePage({ reads, clock, datasets }: ConsoleContext) {
  return pageRoute({
    method: 'GET',
    path: '/console/api/datasets',
    summary: 'The state of each dataset: last synchronisation, rows and next run; and the calls used',
    response: z.strictObject({
      has_key: z.boolean(),
      samples: z.boolean().describe('True: samples are served for datasets that were not synchronised'),
      source: z.string().describe('The API from which the datasets are read'),
      calls_today: z.int().describe('The calls of all nodes in the current UTC day'),
      calls_max: z.int(),
      last_call_at: instant.nullable(),
      items: z.array(
        z.strictObject({
          dataset: name,
          synced_at: instant.nullable(),
          rows: z.int(),
          failures: z.int().describe('Since the last success'),
          fault: z.string().nullable().describe('The reason of the last failure'),
          next_at: instant.nullable(),
          serves: z.enum(['synced', 'samples', 'nothing']),
        }),
      ),
      as_of: instant,
    }),
    handle: async () => {
      const nowMs = clock.now();
      const { syncKey, samples, baseUrl } = datasets;
      const { day, requests, requestedAtMs } = await readSource(reads);
      const rows = await countRows(reads);
      const items = await Promise.all(
        datasetNames.map(async (dataset) => {
          const { failures, fault, syncedAtMs, ...state } = await readSyncState(reads, dataset);
          const unsynced = samples ? ('samples' as const) : ('nothing' as const);
          return {
            dataset,
            synced_at: isoOrNull(syncedAtMs),
            rows: rows.get(dataset) ?? 0,
            failures,
            fault,
            next_at: syncKey === null ? null : isoOf(nextSyncMs(state, nowMs)),
            serves: syncedAtMs === null ? unsynced : ('synced' as const),
          };
        }),
      );
      return {
        has_key: syncKey !== null,
        samples,
        source: baseUrl,
        calls_today: day === utcDayAt(nowMs) ? requests : 0,
        calls_max: defaultPace.requestsPerDay,
        last_call_at: isoOrNull(requestedAtMs),
        items,
        as_of: isoOf(nowMs),
      };
    },
  });
}

function syncPage({ database, identity, datasets }: ConsoleContext) {
  return pageRoute({
    method: 'POST',
    path: '/console/api/datasets/sync',
    role: 'admin',
    summary:
      'Make one dataset or all due: a server synchronises them within seconds, as `naru dataset sync` does',
    body: z.object({ dataset: name.optional() }),
    response: z.strictObject({}),
    handle: async ({ session, body: { dataset } }) => {
      if (datasets.syncKey === null) throw new PageRefusal('conflict', pageMessages.noSyncKey);
      const names = dataset === undefined ? datasetNames : [dataset];
      await identity.recordAct(actorOf(session), { act: 'datasets.sync', subject: names.join(', ') });
      await database.transaction((sql) => requestSync(sql, names));
      return {};
    },
  });
}
