import type { Database } from '../../store/database.ts';
import type { Finding } from './finding.ts';

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
