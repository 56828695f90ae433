import type { Client } from 'pg';
import type { Sql } from './sql.ts';

/** What may change under a running gateway. */
export type ChangeTopic = 'account' | 'key' | 'node' | 'share-of-account' | 'share-of-key' | 'catalogue';

/** One change: the account, key or node with this id must be looked at again; for a published edition, the configuration. */
export interface Change {
  readonly id: number;
  readonly topic: ChangeTopic;
  readonly subject: number;
}

/** The channel on which changes are announced. */
export const changeChannel = 'naru_change';

/** Records a change in the transaction that makes it; every gateway notices it when the transaction commits. */
export async function recordChange(sql: Sql, topic: ChangeTopic, subject: number): Promise<void> {
  await sql.query('INSERT INTO change_event (topic, subject) VALUES ($1, $2)', [topic, subject]);
  await sql.query('SELECT pg_notify($1, $2)', [changeChannel, `${topic}/${subject}`]);
}

/** The highest change id so far; 0 when there is none. */
export async function lastChangeId(client: Client): Promise<number> {
  const result = await client.query<{ id: bigint | null }>('SELECT max(id) AS id FROM change_event');
  return Number(result.rows[0]?.id ?? 0n);
}

/** Changes with an id above `afterId`, in order. */
export async function changesAfter(client: Client, afterId: number): Promise<readonly Change[]> {
  const result = await client.query<{ id: bigint; topic: ChangeTopic; subject: bigint }>({
    name: 'changes-after',
    text: 'SELECT id, topic, subject FROM change_event WHERE id > $1 ORDER BY id LIMIT 10000',
    values: [afterId],
  });
  return result.rows.map((row) => ({ id: Number(row.id), topic: row.topic, subject: Number(row.subject) }));
}
