import type { Sql } from '../store/sql.ts';
import type { EventData, MessageKind } from './kinds.ts';

/** Something that people are told. */
export interface MessageEvent {
  /** The same cause has the same key, and is told once. */
  readonly key: string;
  readonly kind: MessageKind;
  /** Whose it is; null: of no account. */
  readonly accountId: number | null;
  readonly data: EventData;
}

/**
 * Posts events in the caller's transaction: their messages are sent exactly when it commits
 * (spec:operator/5.1). A key that was posted before is left as it is.
 */
export async function postEvents(sql: Sql, events: readonly MessageEvent[], atMs: number): Promise<void> {
  if (events.length === 0) return;
  await sql.query(
    `INSERT INTO message_event (key, kind, account_id, data, created_at)
     SELECT e.key, e.kind, e."accountId", e.data, to_timestamp($2::float8 / 1000)
     FROM jsonb_to_recordset($1::jsonb) e (key text, kind text, "accountId" bigint, data jsonb) ON CONFLICT (key) DO NOTHING`,
    [JSON.stringify(events), atMs],
  );
}
