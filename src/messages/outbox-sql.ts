import { column, nullable, number, type RowOf, recordOf } from '../store/record.ts';
import type { Sql } from '../store/sql.ts';
import type { MessageChannel, MessageSubject } from './choices-sql.ts';
import { type EventData, kindsFor, type MessageLanguage } from './kinds.ts';

const logged = recordOf({
  id: number('m.id'),
  kind: column<string>('e.kind'),
  channel: column<MessageChannel>('m.channel'),
  recipient: column<string>('m.recipient'),
  createdAtMs: column<number>('m.created_at'),
  attempts: number('m.attempts'),
  sentAtMs: column<number | null>('m.sent_at'),
  /** The next attempt; null: it was sent, or given up. */
  nextAtMs: column<number | null>('m.next_at'),
  error: column<string | null>('m.error'),
});

/** A message in the log of what was sent. */
export type LoggedMessage = RowOf<typeof logged>;

const due = recordOf({
  id: number('m.id'),
  kind: column<string>('e.kind'),
  accountId: nullable(number('e.account_id')),
  data: column<EventData>('e.data'),
  causedAtMs: column<number>('e.created_at'),
  channel: column<MessageChannel>('m.channel'),
  recipient: column<string>('m.recipient'),
  language: column<MessageLanguage>('m.language'),
  attempts: number('m.attempts'),
  /** Null for an e-mail, and for a webhook that was removed or leads elsewhere now. */
  secret: column<string | null>(
    '(SELECT c.secret FROM message_choice c WHERE c.subject = m.subject AND c.channel = m.channel AND c.address = m.recipient)',
  ),
});

/** A message to be sent now. */
export type DueMessage = RowOf<typeof due>;

/** Who chose what: the owner of an account by default, if its address is confirmed. Its address is read here. */
const targets = `
  SELECT 'account ' || o.account_id AS subject, 'email' AS channel, o.email AS recipient,
    coalesce(o.preferences->>'language', 'ko') AS language, c.kinds FROM owner o
    LEFT JOIN message_choice c ON c.subject = 'account ' || o.account_id AND c.channel = 'email' WHERE o.email_verified
  UNION ALL
  SELECT c.subject, c.channel, c.address, c.language, c.kinds FROM message_choice c WHERE c.address IS NOT NULL
    AND (c.subject NOT LIKE 'operator %' OR EXISTS (
      SELECT 1 FROM operator o WHERE o.id = substr(c.subject, 10)::bigint AND o.removed_at IS NULL))`;

/**
 * Makes a message of each new event for each who chose its kind, once on all nodes; returns of how
 * many events.
 */
export async function spreadEvents(
  sql: Sql,
  { atMs, mails, limit }: { readonly atMs: number; readonly mails: boolean; readonly limit: number },
): Promise<number> {
  const [row] = await sql.query<{ events: bigint }>(
    `WITH fresh AS (
       UPDATE message_event SET is_spread = true WHERE id IN (
         SELECT id FROM message_event WHERE NOT is_spread ORDER BY id LIMIT $3 FOR UPDATE SKIP LOCKED)
       RETURNING id, kind, account_id), made AS (
       INSERT INTO message (event_id, subject, channel, recipient, language, created_at, next_at)
       SELECT f.id, t.subject, t.channel, t.recipient, t.language, to_timestamp($1::float8 / 1000), to_timestamp($1::float8 / 1000)
       FROM fresh f JOIN (${targets}) t ON CASE WHEN f.kind IN (SELECT jsonb_array_elements_text($4::jsonb))
           THEN t.subject = 'account ' || f.account_id ELSE t.subject LIKE 'operator%' END
         AND (t.kinds IS NULL OR f.kind = ANY (t.kinds)) AND ($2 OR t.channel <> 'email')
       ON CONFLICT DO NOTHING)
     SELECT count(*) AS events FROM fresh`,
    [atMs, mails, limit, JSON.stringify(kindsFor('owner'))],
  );
  return Number(row?.events ?? 0n);
}

/**
 * Makes a test message of what a subject chose; null when it chose nothing there. A subject gets at
 * most `maxPerMinute` of them.
 */
export async function insertTest(
  sql: Sql,
  test: {
    readonly key: string;
    readonly subject: MessageSubject;
    readonly channel: MessageChannel;
    readonly maxPerMinute: number;
  },
  atMs: number,
): Promise<'made' | 'too_many' | 'no_target'> {
  await sql.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 7236482622))', [test.subject]);
  const [recent] = await sql.query<{ count: bigint }>(
    `SELECT count(*) AS count FROM message m JOIN message_event e ON e.id = m.event_id
     WHERE m.subject = $1 AND e.kind = 'test' AND m.created_at > to_timestamp($2::float8 / 1000) - interval '1 minute'`,
    [test.subject, atMs],
  );
  if (Number(recent?.count ?? 0n) >= test.maxPerMinute) return 'too_many';
  const made = await sql.query(
    `WITH target AS (SELECT * FROM (${targets}) t WHERE subject = $2 AND channel = $3), event AS (
       INSERT INTO message_event (key, kind, data, created_at, is_spread)
       SELECT $1, 'test', '{}', to_timestamp($4::float8 / 1000), true FROM target RETURNING id)
     INSERT INTO message (event_id, subject, channel, recipient, language, created_at, next_at)
     SELECT event.id, subject, channel, recipient, language, to_timestamp($4::float8 / 1000), to_timestamp($4::float8 / 1000)
     FROM target, event RETURNING id`,
    [test.key, test.subject, test.channel, atMs],
  );
  return made.length > 0 ? 'made' : 'no_target';
}

/** Takes messages that are due; until `leaseMs` have passed nobody else takes them. */
export async function takeDue(
  sql: Sql,
  { atMs, leaseMs, limit }: { readonly atMs: number; readonly leaseMs: number; readonly limit: number },
): Promise<readonly DueMessage[]> {
  return due.all(
    sql,
    `UPDATE message m SET attempts = m.attempts + 1, error = NULL, next_at = to_timestamp(($1::float8 + $2) / 1000) FROM message_event e
     WHERE e.id = m.event_id AND m.id IN (
       SELECT id FROM message WHERE next_at <= to_timestamp($1::float8 / 1000) ORDER BY next_at LIMIT $3 FOR UPDATE SKIP LOCKED)
     RETURNING ${due.columns}`,
    [atMs, leaseMs, limit],
  );
}

/** Records how an attempt ended; `nextAtMs` null: it was the last. One whose lease was lost records nothing. */
export async function endAttempt(
  sql: Sql,
  { id, attempts }: Pick<DueMessage, 'id' | 'attempts'>,
  end: { readonly sentAtMs: number | null; readonly nextAtMs: number | null; readonly error: string | null },
): Promise<void> {
  await sql.query(
    `UPDATE message SET sent_at = to_timestamp($3::float8 / 1000), next_at = to_timestamp($4::float8 / 1000), error = $5
     WHERE id = $1 AND attempts = $2 AND sent_at IS NULL`,
    [id, attempts, end.sentAtMs, end.nextAtMs, end.error],
  );
}

const waiting = recordOf({
  email: number("count(*) FILTER (WHERE channel = 'email')"),
  webhook: number("count(*) FILTER (WHERE channel = 'webhook')"),
  /** When the first of them is or was due; null: nothing waits. An event is due at once. */
  dueAtMs: column<number | null>(
    'least(min(next_at), (SELECT min(created_at) FROM message_event WHERE NOT is_spread))',
  ),
});

/** Messages that are neither sent nor given up. */
export type WaitingMessages = RowOf<typeof waiting>;

/** What waits to be sent, on all servers. */
export async function readWaiting(sql: Sql): Promise<WaitingMessages | null> {
  return waiting.first(sql, `SELECT ${waiting.columns} FROM message WHERE next_at IS NOT NULL`);
}

/** What was sent to these, newest first. */
export function listMessages(
  sql: Sql,
  page: {
    /** The owner of an account; null: all operators. */
    readonly accountId: number | null;
    readonly beforeId: number | null;
    readonly limit: number;
  },
): Promise<readonly LoggedMessage[]> {
  return logged.all(
    sql,
    `SELECT ${logged.columns} FROM message m JOIN message_event e ON e.id = m.event_id
     WHERE CASE WHEN $1::bigint IS NULL THEN m.subject LIKE 'operator%' ELSE m.subject = 'account ' || $1::bigint END
       AND ($2::bigint IS NULL OR m.id < $2) ORDER BY m.id DESC LIMIT $3`,
    [page.accountId, page.beforeId, page.limit],
  );
}

/** Forgets messages and events that are older than this. */
export async function forgetMessages(sql: Sql, beforeMs: number): Promise<void> {
  await sql.query('DELETE FROM message WHERE created_at < to_timestamp($1::float8 / 1000)', [beforeMs]);
  await sql.query(
    `DELETE FROM message_event e WHERE created_at < to_timestamp($1::float8 / 1000)
       AND NOT EXISTS (SELECT 1 FROM message m WHERE m.event_id = e.id)`,
    [beforeMs],
  );
}

/** Deletes what an account was told, and what it chose. */
export async function deleteMessages(sql: Sql, accountId: number): Promise<void> {
  const events = 'SELECT id FROM message_event WHERE account_id = $1';
  await sql.query(`DELETE FROM message WHERE subject = 'account ' || $1::bigint OR event_id IN (${events})`, [
    accountId,
  ]);
  await sql.query('DELETE FROM message_event WHERE account_id = $1', [accountId]);
  await sql.query("DELETE FROM message_choice WHERE subject = 'account ' || $1::bigint", [accountId]);
}
