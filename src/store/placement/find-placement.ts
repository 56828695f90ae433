import type { Sql } from '../sql.ts';
import { OneServer } from './one-server.ts';
import type { Placement } from './placement.ts';
import type { PlacementParts } from './placement-parts.ts';
import { ShardPlacement } from './shard-placement.ts';
import { readShards } from './shards.ts';

/** The placement of a database that was not looked at yet. */
export function assumeOneServer(parts: PlacementParts): Placement {
  return new OneServer(parts);
}

/**
 * Finds where the accounts are, in place of what was known; run again, it follows shards that an
 * operator has moved.
 */
export async function findPlacement(known: Placement, parts: PlacementParts, sql: Sql): Promise<Placement> {
  const shards = await readShards(sql);
  if (shards === null) return known;
  const placement = known instanceof ShardPlacement ? known : new ShardPlacement(parts, shards);
  await placement.follow(shards);
  return placement;
}
