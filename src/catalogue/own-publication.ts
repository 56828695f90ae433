import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import type { Log, LogFields } from '../log/log.ts';
import { type Price, rateToDecimal } from '../money/price.ts';
import { nodeDir } from '../nodes/node-dir.ts';
import { untilIdentityIsFree } from '../nodes/node-identity.ts';
import { listNodes, nodeLostMs } from '../nodes/nodes-sql.ts';
import { systemProcessMarks } from '../nodes/process-mark.ts';
import { workerDirs } from '../postgres/worker-dir.ts';
import type { Database } from '../store/database.ts';
import { migrateLogged } from '../store/migrate.ts';
import type { Sql } from '../store/sql.ts';
import type { Clock } from '../time/clock.ts';
import { type CatalogueChange, isLargeChange } from './difference.ts';
import { differenceTo, publishPrices } from './publish.ts';

/** What a server publishes its configuration with. */
export interface OwnPublicationParts {
  readonly database: Database;
  readonly dataDir: string;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Publishes the configuration of a server that starts, as `publishOwn`, once no other process serves
 * with an identity of its data directory: then what is registered with them is dead. Throws
 * `NodeIdentityTaken`.
 */
export async function publishAtStart(config: Config, parts: OwnPublicationParts): Promise<number> {
  const { database, clock, dataDir, log } = parts;
  await migrateLogged(database, log);
  for (const home of ownHomes(dataDir))
    await untilIdentityIsFree({ database, clock, marks: systemProcessMarks() }, home);
  return publishOwn(config, parts, { mayPublish: true, before: 0 });
}

/**
 * Publishes the configuration of a server if no node of another server is live, or nothing was
 * published yet, and logs the changes. Otherwise, or unless `mayPublish`, logs what differs from the
 * edition that is billed. Returns the edition that this server published last; `before` when it
 * published none now.
 */
export async function publishOwn(
  config: Config,
  { database, dataDir, clock, log }: OwnPublicationParts,
  { mayPublish, before }: { readonly mayPublish: boolean; readonly before: number },
): Promise<number> {
  if (!mayPublish) {
    reportDifference(await differenceTo(database, config), log);
    return before;
  }
  const { edition, changes, isPublished } = await publishPrices(database, config, {
    atMs: clock.now(),
    announce: 'edition',
    permit: ifAlone(ownHomes(dataDir)),
  });
  if (isPublished) report(changes, (fields) => log.info('catalogue_changed', fields));
  else reportDifference(changes, log);
  return isPublished ? edition : before;
}

/** The identities of a server and of its workers, of this or an earlier start. */
function ownHomes(dataDir: string): ReadonlySet<string> {
  const dirs = [dataDir, ...workerDirs(dataDir)].filter((dir) => existsSync(join(dir, 'node-id')));
  return new Set(dirs.map(nodeDir));
}

/**
 * Permits a server with these identities to publish changes: while no node of another server is
 * live.
 */
export function ifAlone(homes: ReadonlySet<string>) {
  return async (sql: Sql, changes: readonly CatalogueChange[]): Promise<boolean> =>
    changes.length > 0 &&
    (await listNodes(sql)).every(({ home, silentMs }) => silentMs >= nodeLostMs || homes.has(home));
}

function reportDifference(changes: readonly CatalogueChange[], log: Log): void {
  if (changes.length === 0) return;
  report(changes, (fields) => log.warn('price_not_published', fields));
  const detail =
    'the published prices are billed, and what has none is not served; naru models publish publishes the file';
  log.warn('file_differs', { differences: changes.length, detail });
}

/** Won per prompt token / completion token. */
function report(changes: readonly CatalogueChange[], line: (fields: LogFields) => void): void {
  const text = (price: Price | undefined): string | null =>
    price === undefined ? null : `${rateToDecimal(price.prompt)}/${rateToDecimal(price.completion)}`;
  for (const each of changes) {
    const { change, model, candidate, before, after } = each;
    const prices = { before: text(before?.price), after: text(after?.price) };
    line({ change, model, candidate, ...prices, ...(isLargeChange(each) && { beyond_x10: true }) });
  }
}
