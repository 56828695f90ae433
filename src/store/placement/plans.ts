import type { ClientBase } from 'pg';

/**
 * Makes an ordered connection plan each of its statements once: the same few run all the time, and
 * planning them each time costs more than their generic plan loses. Citus finds the shards of a
 * statement by its values, and has no generic plan of most.
 */
export async function planOnce(client: ClientBase): Promise<void> {
  await client.query(
    `SELECT set_config('plan_cache_mode', 'force_generic_plan', false)
     WHERE NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus')`,
  );
}
