import type { Sql } from '../store/sql.ts';
import { maxClockSkewMs } from '../time/clock.ts';

const isOver = `(a.window_ends_at <= to_timestamp($2::float8 / 1000)
  OR a.window_ends_at > excluded.window_ends_at + interval '${maxClockSkewMs} milliseconds')`;

/**
 * Counts an attempt in the window of a subject, which begins with it when there is none. One that
 * ends later than a new one would is of a clock that was wrong.
 */
export async function countAttempt(
  sql: Sql,
  subject: Buffer,
  nowMs: number,
  endsAtMs: number,
): Promise<{ readonly attempts: number; readonly endsAtMs: number }> {
  const [row] = await sql.query<{ attempts: number; window_ends_at: number }>(
    `INSERT INTO sign_in_attempt AS a (subject, attempts, window_ends_at) VALUES ($1, 1, to_timestamp($3::float8 / 1000))
     ON CONFLICT (subject) DO UPDATE SET
       attempts = CASE WHEN ${isOver} THEN 1 ELSE least(a.attempts + 1, 1000000) END,
       window_ends_at = CASE WHEN ${isOver} THEN excluded.window_ends_at ELSE a.window_ends_at END
     RETURNING attempts, window_ends_at`,
    [subject, nowMs, endsAtMs],
  );
  if (row === undefined) throw new Error('counting an attempt returned no row');
  return { attempts: row.attempts, endsAtMs: row.window_ends_at };
}

/** Takes one attempt of a subject back. */
export async function takeBackAttempt(sql: Sql, subject: Buffer): Promise<void> {
  await sql.query('UPDATE sign_in_attempt SET attempts = attempts - 1 WHERE subject = $1 AND attempts > 0', [
    subject,
  ]);
}

/** Deletes the attempts of a subject. */
export async function deleteAttempts(sql: Sql, subject: Buffer): Promise<void> {
  await sql.query('DELETE FROM sign_in_attempt WHERE subject = $1', [subject]);
}
