import { column, type RowOf, recordOf } from '../store/record.ts';
import type { Sql } from '../store/sql.ts';
import type { MessageLanguage } from './kinds.ts';

/** How a message arrives. */
export const messageChannels = ['email', 'webhook'] as const;
export type MessageChannel = (typeof messageChannels)[number];

/** Who gets messages: the owner of an account, one operator, or all operators together. */
export type MessageSubject = `account ${number}` | `operator ${number}` | 'operators';

const choices = recordOf({
  channel: column<MessageChannel>('channel'),
  kinds: column<readonly string[]>('kinds'),
  language: column<MessageLanguage>('language'),
  /** A URL or an e-mail address; null for the address of the owner. */
  address: column<string | null>('address'),
});

/** What a subject chose for one channel. */
export type MessageChoice = RowOf<typeof choices>;

/** The choices of a subject, without their secrets; at most one of each channel. */
export function readChoices(sql: Sql, subject: MessageSubject): Promise<readonly MessageChoice[]> {
  return choices.all(sql, `SELECT ${choices.columns} FROM message_choice WHERE subject = $1`, [subject]);
}

/** Replaces a choice. The secret of a webhook stays while its URL does; true: `secret` was stored. */
export async function setChoice(
  sql: Sql,
  subject: MessageSubject,
  choice: MessageChoice,
  secret: string | null,
): Promise<boolean> {
  const [row] = await sql.query<{ is_new: boolean }>(
    `INSERT INTO message_choice AS c (subject, channel, kinds, language, address, secret)
     VALUES ($1, $2, (SELECT coalesce(array_agg(k), '{}') FROM jsonb_array_elements_text($3::jsonb) k), $4, $5, $6)
     ON CONFLICT (subject, channel) DO UPDATE SET kinds = EXCLUDED.kinds, language = EXCLUDED.language, address = EXCLUDED.address,
       secret = CASE WHEN c.address = EXCLUDED.address THEN c.secret ELSE EXCLUDED.secret END
     RETURNING secret IS NOT DISTINCT FROM $6 AS is_new`,
    [subject, choice.channel, JSON.stringify(choice.kinds), choice.language, choice.address, secret],
  );
  return row?.is_new === true;
}

/** Removes a choice; what waits to be sent by it is given up. */
export async function deleteChoice(
  sql: Sql,
  subject: MessageSubject,
  channel: MessageChannel,
): Promise<void> {
  await sql.query('DELETE FROM message_choice WHERE subject = $1 AND channel = $2', [subject, channel]);
}
