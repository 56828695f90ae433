import { afterEach, beforeEach } from 'node:test';
import type { Config } from '../../src/config/config.ts';
import { Secret } from '../../src/config/secret.ts';
import { type DatasetName, DatasetSync, type SyncOutcome } from '../../src/datasets/sync.ts';
import { createLog } from '../../src/log/log.ts';
import { Database } from '../../src/store/database.ts';
import { createTestDatabase } from '../harness/database.ts';
import { TestClock } from '../harness/test-clock.ts';
import { reply, startUpstream, type Upstream } from '../harness/upstream.ts';
import type { Reply } from '../harness/upstream-reply.ts';

// biome-ignore lint/suspicious/noExplicitAny: rows of a source are what a test makes them, wrong ones too.
export type Row = Record<string, any>;

export const sourceKey = 'sk-or-v1-0123456789abcdef0123456789abcdef';

/** A source on a real socket with the test's data; replies queued on `upstream` come first. */
export interface ScriptedSource {
  readonly upstream: Upstream;
  readonly settings: Config['datasets'];
  apps: Row[];
  models: Row[];
  benchmarks: Row[];
  /** The default window of the app ranking. */
  period: { start: string; end: string };
  /** The maximum rows on a page, whatever was requested. */
  maxPage: number;
  /** Paths with their queries, in order. */
  sent(): readonly string[];
}

export async function startSource(): Promise<ScriptedSource> {
  const upstream = await startUpstream();
  const source: ScriptedSource = {
    upstream,
    settings: { syncKey: new Secret(sourceKey), samples: true, baseUrl: upstream.url },
    apps: manyApps(3),
    models: [modelRow('2026-11-18', 'a/one', '10'), modelRow('2026-11-18', 'other', '99')],
    benchmarks: [aaItem('a/one', 60)],
    period: { start: '2026-10-19', end: '2026-11-18' },
    maxPage: 100,
    sent: () => upstream.requests.map((request) => request.path.replace('/v1', '')),
  };
  upstream.respond((request) => response(source, new URL(request.path, 'http://source')));
  return source;
}

function response(source: ScriptedSource, url: URL): Reply {
  const query = url.searchParams;
  const period = {
    start_date: query.get('start_date') ?? source.period.start,
    end_date: query.get('end_date') ?? source.period.end,
  };
  const meta = { as_of: '2026-11-19T01:00:00Z', version: 'v1', ...period };
  switch (url.pathname) {
    case '/v1/datasets/app-rankings': {
      const offset = Number(query.get('offset') ?? 0);
      const limit = Math.min(Number(query.get('limit') ?? 50), source.maxPage);
      return page(source.apps.slice(offset, offset + limit), meta);
    }
    case '/v1/datasets/rankings-daily': {
      const isAll = ['modality', 'context_bucket', 'category', 'language_type'].every(
        (name) => !query.has(name),
      );
      const rows = source.models.filter(
        (row) => row['date'] >= period.start_date && row['date'] <= period.end_date,
      );
      return page(isAll ? rows : [], meta);
    }
    case '/v1/benchmarks': {
      const rows = source.benchmarks.filter(
        (row) =>
          row['source'] === query.get('source') &&
          (row['arena'] ?? 'models') === (query.get('arena') ?? 'models') &&
          (query.get('task_type') !== 'search' || 'search_engine' in row),
      );
      const about = { citation: `Source: ${query.get('source')}.`, source_url: 'https://publisher.example' };
      return page(rows, { as_of: '2026-11-19T01:00:00Z', version: 'v1', ...about });
    }
    default:
      return reply.status(404);
  }
}

/** A page of the source. A bigint becomes a JSON number with all its digits. */
export function page(data: readonly unknown[], meta: object = {}): Reply {
  const digits = (_name: string, value: unknown): unknown =>
    typeof value === 'bigint' ? `#${value}#` : value;
  return reply.status(200, JSON.stringify({ data, meta }, digits).replace(/"#(\d+)#"/g, '$1'));
}

export function manyApps(count: number): Row[] {
  return Array.from({ length: count }, (_, index) => appRow(index + 1));
}

export function appRow(rank: number, more: Row = {}): Row {
  return {
    rank,
    app_id: 1000 + rank,
    app_name: `App ${rank}`,
    total_tokens: String(10_000_000 - rank),
    total_requests: 1000 - rank,
    ...more,
  };
}

export function modelRow(date: string, model: string, tokens: unknown): Row {
  return { date, model_permaslug: model, total_tokens: tokens };
}

export function aaItem(model: string, coding: number | null): Row {
  return {
    source: 'artificial-analysis',
    model_permaslug: model,
    display_name: model,
    intelligence_index: 70,
    coding_index: coding,
    agentic_index: null,
    pricing: { prompt: '0.000001', completion: '0.000002' },
  };
}

/** A sync on its own database, without waits except those that a test sets. */
export interface TestSync {
  readonly database: Database;
  readonly clock: TestClock;
  readonly logged: Record<string, unknown>[];
  /** The limit of one request. A test of silence makes it short; no other test depends on it. */
  readonly limits: { wholeMs: number };
  sync(...datasets: readonly DatasetName[]): Promise<SyncOutcome>;
  /** Another process at the same database. */
  another(pace?: Partial<Pace>): DatasetSync;
  close(): Promise<void>;
}

type Pace = NonNullable<ConstructorParameters<typeof DatasetSync>[0]['pace']>;

export const hurried: Pace = { spacingMs: 0, requestsPerDay: 1_000, wholeMs: 20_000 };

export async function startSync(source: ScriptedSource): Promise<TestSync> {
  const testDatabase = await createTestDatabase();
  const database = new Database(testDatabase.address);
  const clock = new TestClock();
  clock.set('2026-11-19T12:00:00+09:00');
  const logged: Record<string, unknown>[] = [];
  const log = createLog(
    (line) => logged.push(JSON.parse(line)),
    'debug',
    () => clock.now(),
  );
  const limits = { wholeMs: hurried.wholeMs };
  const syncs: DatasetSync[] = [];
  const another = (pace: Partial<Pace> = {}): DatasetSync => {
    const sync = new DatasetSync({
      settings: source.settings,
      database,
      clock,
      log,
      pace: { ...hurried, ...limits, ...pace },
    });
    syncs.push(sync);
    return sync;
  };
  return {
    database,
    clock,
    logged,
    limits,
    another,
    async sync(...datasets) {
      const outcomes = await another().syncNow(datasets);
      if (typeof outcomes === 'string' || outcomes[0] === undefined)
        throw new Error(`not synced: ${outcomes}`);
      return outcomes[0];
    },
    async close() {
      for (const sync of syncs) await sync.close();
      await database.close();
      await testDatabase.drop();
    },
  };
}

/** A source and a sync of it for each test of a file; `started` receives them before the test. */
export function syncForEach(started: (source: ScriptedSource, sync: TestSync) => void): void {
  const opened: (() => Promise<void>)[] = [];
  beforeEach(async () => {
    const source = await startSource();
    opened.unshift(() => source.upstream.close());
    const sync = await startSync(source);
    opened.unshift(() => sync.close());
    started(source, sync);
  });
  afterEach(async () => {
    for (const close of opened.splice(0)) await close();
  });
}
