import { fileURLToPath } from 'node:url';
import type { Log } from '../log/log.ts';
import { Database } from '../store/database.ts';
import type { PageContext } from './context.ts';
import { IdempotentChanges } from './idempotency.ts';
import type { AnyPageRoute } from './page-route.ts';
import { PageServer } from './page-server.ts';
import type { Area, Sessions } from './page-session.ts';
import { Watchers } from './watchers.ts';

/** What the pages of one process are opened with. */
export interface PagesParts extends Pick<PageContext, 'database' | 'clock' | 'identity'> {
  readonly log: Log;
  /** Who is signed in; identity when absent. */
  readonly sessions?: Sessions;
  /** `web/dist`; the one beside the program when absent. */
  readonly distFolder?: string;
}

/** What the pages of both areas share in one process. */
export interface Pages {
  readonly context: PageContext;
  readonly changes: IdempotentChanges;
  /** Serves the rows of an area, with its app; the console also at a public origin. */
  serve(area: Area, rows: readonly AnyPageRoute[], publicOrigin?: string | null): PageServer;
  /** Ends the live views, so that a drain does not wait for them. */
  stop(): void;
  close(): Promise<void>;
}

/** Connections for reads of the pages. */
const readConnections = 2;
/** How long a read of a page may take. */
const readTimeoutMs = 5_000;
const builtFolder = fileURLToPath(new URL('../../web/dist', import.meta.url));

/** Opens what the pages of one process share. */
export function openPages({
  database,
  clock,
  log,
  identity,
  sessions = identity,
  distFolder = builtFolder,
}: PagesParts): Pages {
  const reads = new Database(database.address, readConnections, readTimeoutMs);
  const watchers = new Watchers({ sessions, clock, log });
  const changes = new IdempotentChanges({ database, clock });
  return {
    context: { reads, database, clock, identity, watchers },
    changes,
    serve: (area, rows, publicOrigin = null) =>
      new PageServer({ area, publicOrigin, rows, sessions, changes, log, distFolder }),
    stop: () => watchers.close(),
    close: () => reads.close(),
  };
}
