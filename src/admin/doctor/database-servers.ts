import type { Database } from '../../store/database.ts';
import { nameOf, serversOf } from '../../store/shards.ts';
import type { Finding } from './finding.ts';

/** Which servers of a distributed database do not respond; nothing where there is one server. */
export async function examineServers(database: Database): Promise<readonly Finding[]> {
  await database.readShards();
  if (database.shards.count === 1) return [];
  await database.lookForServers();
  const away = new Map(database.serversAway.map((server) => [nameOf(server), server.shards]));
  return serversOf(database.shards).map((server) => {
    const name = nameOf(server);
    const shards = away.get(name);
    if (shards === undefined)
      return { name: 'database server', ok: true, message: `${name}: ${server.shards.length} shards` };
    const numbers = shards.map((shard) => shard + 1).join(', ');
    const message = `${name} does not respond: charges of its shards (${numbers}) wait in the journal; start it`;
    return { name: 'database server', ok: false, message };
  });
}
