import type { Client } from 'pg';
import { int8ArrayOfNumbers } from './binary-arrays.ts';
import type { Sql } from './sql.ts';

/** The kinds of changes that a running gateway follows. */
export type ChangeTopic =
  | 'account'
  | 'key'
  | 'calls-of-key'
  | 'node'
  | 'share-of-account'
  | 'share-of-key'
  | 'catalogue'
  | 'edition'
  | 'drain'
  | 'flush';

/**
 * One change: the account, key or node with this id must be read again; for an edition that an
 * operator (`catalogue`) or a server (`edition`) published, its prices and the configuration; for
 * `drain`, which candidates are drained. For `flush`, the request with this id must be fulfilled.
 * For `calls-of-key`, the calls of the key must end if it may not call.
 */
export interface Change {
  readonly id: number;
  readonly topic: ChangeTopic;
  readonly subject: number;
}

/** The channel on which changes are announced. */
const changeChannel = 'naru_change';

/**
 * Subscribes a connection to the channel: it gets a notification of each change, and one now, which
 * shows that notifications arrive. A pooler between the two may drop them.
 */
export async function listenForChanges(client: Client): Promise<void> {
  await client.query(`LISTEN ${changeChannel}`);
  await client.query('SELECT pg_notify($1, $2)', [changeChannel, 'listening']);
}

/**
 * Records a change in the transaction that makes it; every gateway notices it when the transaction
 * commits.
 */
export async function recordChange(sql: Sql, topic: ChangeTopic, subject: number): Promise<void> {
  await sql.query('INSERT INTO change_event (topic, subject) VALUES ($1, $2)', [topic, subject]);
  await sql.query('SELECT pg_notify($1, $2)', [changeChannel, `${topic}/${subject}`]);
}

/** Records changes of many subjects of one topic at once. */
export async function recordChanges(
  sql: Sql,
  topic: ChangeTopic,
  subjects: readonly number[],
): Promise<void> {
  await sql.query(
    'INSERT INTO change_event (topic, subject) SELECT $1, subject FROM unnest($2::bigint[]) s (subject)',
    [topic, int8ArrayOfNumbers(subjects)],
  );
  // A listener reads everything that is new, whatever the notification names.
  await sql.query('SELECT pg_notify($1, $2)', [changeChannel, topic]);
}

/** The changes that a reader has seen: a snapshot of the server, as text. */
export type SeenChanges = string;

/** Some of the changes that a reader has not seen. */
export interface ChangePage {
  /** In the order of their ids. */
  readonly changes: readonly Change[];
  readonly isLast: boolean;
  /** The state after all pages, the first of which was read now. */
  readonly seen: SeenChanges;
}

/** How long changes are kept for readers that have not seen them. */
export const changesKeptMs = 7 * 86_400_000;

/** Deletes changes beyond that age. */
export async function forgetOldChanges(sql: Sql): Promise<void> {
  await sql.query("DELETE FROM change_event WHERE at < now() - $1::float8 * interval '1 millisecond'", [
    changesKeptMs,
  ]);
}

const pageSize = 1_000;

/** The state of a reader that has seen all changes up to now. */
export async function seenUntilNow(sql: Sql): Promise<SeenChanges> {
  const [row] = await sql.query<{ seen: string }>('SELECT pg_current_snapshot()::text AS seen');
  return row?.seen ?? '';
}

/**
 * A page of the changes with an id above `afterId` that had not committed at the time of `seen`:
 * those of transactions that began later, and of those that were under way. Rows of a restored copy
 * may have numbers that this server has not reached yet: they are not new.
 */
export async function changesAfter(client: Client, seen: SeenChanges, afterId: number): Promise<ChangePage> {
  const { rows } = await client.query<{
    now: string;
    id: bigint | null;
    topic: ChangeTopic;
    subject: bigint;
  }>({
    name: 'changes-after',
    text: `SELECT now.seen AS now, late.id, late.topic, late.subject FROM (SELECT pg_current_snapshot()::text AS seen) now
           LEFT JOIN (
             SELECT id, topic, subject FROM (
               SELECT id, topic, subject FROM change_event
               WHERE tx >= pg_snapshot_xmax($1::pg_snapshot) AND tx < pg_snapshot_xmax(pg_current_snapshot())
               UNION ALL
               SELECT id, topic, subject FROM change_event WHERE tx = ANY (ARRAY(SELECT pg_snapshot_xip($1::pg_snapshot)))
             ) unseen WHERE id > $2 ORDER BY id LIMIT ${pageSize}
           ) late ON true ORDER BY late.id`,
    values: [seen, afterId],
  });
  const changes = rows.flatMap(({ id, topic, subject }) =>
    id === null ? [] : [{ id: Number(id), topic, subject: Number(subject) }],
  );
  return { changes, isLast: changes.length < pageSize, seen: rows[0]?.now ?? seen };
}

/**
 * The same reader as it was some ten thousand transactions ago. A server that crashed may reuse a
 * number of a transaction that did not commit, so a reader that has lost its server looks back so
 * far.
 */
export function lookedBack(seen: SeenChanges): SeenChanges {
  const first = BigInt(seen.slice(0, seen.indexOf(':')));
  const from = first > 10_000n ? first - 10_000n : 1n;
  return `${from}:${from}:`;
}
