import { column, type RowOf, recordOf } from '../store/record.ts';
import type { Sql } from '../store/sql.ts';

const identities = recordOf({
  issuer: column<string>('issuer'),
  subject: column<string>('subject'),
  createdAtMs: column<number>('created_at'),
});

/** A person of an OpenID provider, and since when it is linked. */
type Linked = RowOf<typeof identities>;

/** The id of the owner that is linked to a person of the provider; null when none is. */
export async function findLinkedOwner(
  sql: Sql,
  { issuer, subject }: Pick<Linked, 'issuer' | 'subject'>,
): Promise<number | null> {
  const [row] = await sql.query<{ owner_id: bigint }>(
    'SELECT owner_id FROM owner_oidc WHERE issuer = $1 AND subject = $2',
    [issuer, subject],
  );
  return row === undefined ? null : Number(row.owner_id);
}

/** The persons of providers that an owner is linked to, at most one of each provider. */
export function listOidcIdentities(sql: Sql, ownerId: number): Promise<readonly Linked[]> {
  return identities.all(
    sql,
    `SELECT ${identities.columns} FROM owner_oidc WHERE owner_id = $1 ORDER BY issuer`,
    [ownerId],
  );
}

/** Links an owner to a person of the provider; a person that is linked already is a duplicate. */
export async function linkOwner(
  sql: Sql,
  ownerId: number,
  { issuer, subject, createdAtMs }: Linked,
): Promise<void> {
  await sql.query(
    'INSERT INTO owner_oidc (issuer, subject, owner_id, created_at) VALUES ($1, $2, $3, to_timestamp($4::float8 / 1000))',
    [issuer, subject, ownerId, createdAtMs],
  );
}
