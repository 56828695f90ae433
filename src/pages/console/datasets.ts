import { z } from 'zod';
import { datasetNames } from '../../datasets/sync.ts';
import { reportSync } from '../../datasets/sync-report.ts';
import { pageMessages } from '../../errors/page-messages.ts';
import { PageRefusal } from '../../errors/page-refusal.ts';
import type { DatasetRun } from '../../operations/dataset-runs.ts';
import { isoOf } from '../../time/clock.ts';
import type { ConsoleContext } from '../context.ts';
import { pageRoute } from '../page-route.ts';
import { instant } from '../shapes.ts';
import { actorOf } from './operators.ts';

const name = z.enum(datasetNames);
const runShape = z
  .strictObject({
    datasets: z.array(name),
    started_at: instant,
    started_by: z.string(),
    state: z
      .enum(['running', 'done', 'busy', 'failed'])
      .describe('`busy`: another process was synchronising'),
    ended_at: instant.nullable(),
    fault: z.string().nullable(),
    outcomes: z.array(
      z.strictObject({ dataset: name, rows: z.int().nullable(), fault: z.string().nullable() }),
    ),
  })
  .nullable();

/** The datasets and their source (A10). */
export function datasetPages(parts: ConsoleContext) {
  return [statePage(parts), syncPage(parts)];
}

function statePage({ reads, clock, datasets, datasetRuns }: ConsoleContext) {
  return pageRoute({
    method: 'GET',
    path: '/console/api/datasets',
    area: 'console',
    credential: 'session',
    summary: 'The state of each dataset: last synchronisation, rows and next run; and the calls used',
    response: z.strictObject({
      has_key: z.boolean(),
      samples: z.boolean().describe('True: samples are served for datasets that were not synchronised'),
      source: z.string().describe('The API from which the datasets are read'),
      calls_today: z.int().describe('The calls of all nodes in the current UTC day'),
      calls_max: z.int(),
      last_call_at: instant.nullable(),
      is_running: z.boolean().describe('On any node'),
      items: z.array(
        z.strictObject({
          dataset: name,
          synced_at: instant.nullable(),
          rows: z.int(),
          failures: z.int().describe('Since the last success'),
          next_at: instant.nullable(),
          serves: z.enum(['synced', 'samples', 'nothing']),
        }),
      ),
      run: runShape.describe(
        'The last run that an operator started in the console of this server; null: none',
      ),
      as_of: instant,
    }),
    handle: async () => {
      const nowMs = clock.now();
      const report = await reportSync(reads, datasets, nowMs);
      return {
        has_key: report.hasKey,
        samples: report.samples,
        source: datasets.baseUrl,
        calls_today: report.calls.today,
        calls_max: report.calls.max,
        last_call_at: isoOrNull(report.calls.lastAtMs),
        is_running: report.isRunning,
        items: report.datasets.map(({ dataset, syncedAtMs, rows, failures, nextAtMs }) => ({
          dataset,
          synced_at: isoOrNull(syncedAtMs),
          rows,
          failures,
          next_at: isoOrNull(nextAtMs),
          serves:
            syncedAtMs !== null
              ? ('synced' as const)
              : report.samples
                ? ('samples' as const)
                : ('nothing' as const),
        })),
        run: runBody(datasetRuns.last),
        as_of: isoOf(nowMs),
      };
    },
  });
}

function syncPage({ datasetRuns }: ConsoleContext) {
  return pageRoute({
    method: 'POST',
    path: '/console/api/datasets/sync',
    area: 'console',
    credential: 'session',
    role: 'admin',
    summary:
      'Start a synchronisation of one dataset or of all, as `naru dataset sync` does; it continues after the response',
    body: z.object({ dataset: name.optional() }),
    response: z.strictObject({ run: runShape }),
    handle: async ({ session, body: { dataset } }) => {
      const outcome = await datasetRuns.start(
        dataset === undefined ? datasetNames : [dataset],
        actorOf(session),
      );
      if (outcome === 'no_key') throw new PageRefusal('conflict', pageMessages.noSyncKey);
      if (outcome === 'running') throw new PageRefusal('conflict', pageMessages.syncRuns);
      return { run: runBody(datasetRuns.last) };
    },
  });
}

function runBody(run: DatasetRun | null): z.input<typeof runShape> {
  if (run === null) return null;
  const { ended } = run;
  const outcome = ended?.outcome ?? [];
  const isList = Array.isArray(outcome);
  return {
    datasets: [...run.datasets],
    started_at: isoOf(run.startedAtMs),
    started_by: run.startedBy,
    state: ended === null ? 'running' : outcome === 'busy' ? 'busy' : isList ? 'done' : 'failed',
    ended_at: isoOrNull(ended?.atMs ?? null),
    fault: typeof outcome === 'object' && 'fault' in outcome ? outcome.fault : null,
    outcomes: isList
      ? outcome.map((one) => ({
          dataset: one.dataset,
          rows: one.kind === 'synced' ? one.rows : null,
          fault: one.kind === 'failed' ? one.reason : null,
        }))
      : [],
  };
}

function isoOrNull(epochMs: number | null): string | null {
  return epochMs === null ? null : isoOf(epochMs);
}
