import { lastPublication } from '../../catalogue/publications-sql.ts';
import type { Config } from '../../config/config.ts';
import { counted } from '../../errors/counted.ts';
import { listHalfDropped } from '../../ledger/retention-sql.ts';
import { readNodes } from '../../nodes/nodes.ts';
import type { Database } from '../../store/database.ts';
import { isoDay, seoulDayAt } from '../../time/period.ts';

/** One check of `naru doctor`; the message of a failed one contains the remedy. */
export interface Finding {
  readonly name: string;
  readonly ok: boolean;
  /** Something to do when there is time; Naru serves. */
  readonly isWarning?: boolean;
  readonly message: string;
}

/** Months whose records are dropped in part, where each server drops its own. */
export async function examineRetention(database: Database): Promise<readonly Finding[]> {
  const months = await listHalfDropped(database);
  return months.map((month) => ({
    name: 'records',
    ok: false,
    message: `those of ${month} are dropped in part: unless naru generation prune is running, run it again`,
  }));
}

/** Older metadata lacks new models and their limits. */
const maxAgeDays = 180;

/** The age of the public model metadata, where the configuration uses it. */
export function examineMetadata({ metadata }: Pick<Config, 'metadata'>, nowMs: number): readonly Finding[] {
  if (metadata === null) return [];
  const message = `of ${metadata.asOf} (${metadata.source})`;
  const isOld = metadata.asOf < isoDay(seoulDayAt(nowMs - maxAgeDays * 86_400_000));
  const remedy = `older than ${maxAgeDays} days: naru models update FILE, or naru models refresh after an upgrade`;
  return [
    isOld
      ? { name: 'model metadata', ok: true, isWarning: true, message: `${message}, ${remedy}` }
      : { name: 'model metadata', ok: true, message },
  ];
}

/** Whether every live node bills the published edition and has its prices in its configuration. */
export async function examinePrices(database: Database): Promise<readonly Finding[]> {
  const edition = (await lastPublication(database))?.id ?? 0;
  const nodes = (await readNodes(database)).filter(({ lives }) => lives);
  if (nodes.length === 0) return [];
  const findings = nodes.flatMap((node): readonly Finding[] => {
    const who = `node ${node.id} (${node.address})`;
    if ((node.edition ?? 0) < edition)
      return [bad(`${who} does not serve edition ${edition} yet: see its log, or restart it`)];
    return (node.differences ?? 0) === 0
      ? []
      : [
          bad(
            `${who} bills edition ${edition}, and its configuration differs in ${counted(node.differences ?? 0, 'price')}: give it the file that was published, or run naru models publish with its file`,
          ),
        ];
  });
  if (findings.length > 0) return findings;
  return [{ name: 'prices', ok: true, message: `edition ${edition} on ${counted(nodes.length, 'node')}` }];
}

function bad(message: string): Finding {
  return { name: 'prices', ok: false, message };
}

/** Which servers of accounts do not respond, beside the one of the address. */
export async function examineServers(database: Database): Promise<readonly Finding[]> {
  const placement = await database.place();
  await placement.look();
  return placement.servers.map(({ name, parts, isAway }) => {
    if (!isAway) return { name: 'database server', ok: true, message: `${name}: ${parts.length} shards` };
    const shards = parts.map((part) => part + 1).join(', ');
    const message = `${name} does not respond: charges of its shards (${shards}) wait in the journal; start it`;
    return { name: 'database server', ok: false, message };
  });
}
