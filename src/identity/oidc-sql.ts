import type { Sql } from '../store/sql.ts';

/** A person of an OpenID provider. */
interface Identity {
  readonly issuer: string;
  readonly subject: string;
}

/** The id of the owner that is linked to a person of the provider; null when none is. */
export async function findLinkedOwner(sql: Sql, { issuer, subject }: Identity): Promise<number | null> {
  const [row] = await sql.query<{ owner_id: bigint }>(
    'SELECT owner_id FROM owner_oidc WHERE issuer = $1 AND subject = $2',
    [issuer, subject],
  );
  return row === undefined ? null : Number(row.owner_id);
}

/** The person of the provider that an owner is linked to; null when it is not linked. */
export async function linkedSubject(sql: Sql, ownerId: number, issuer: string): Promise<string | null> {
  const [row] = await sql.query<{ subject: string }>(
    'SELECT subject FROM owner_oidc WHERE owner_id = $1 AND issuer = $2',
    [ownerId, issuer],
  );
  return row?.subject ?? null;
}

/** Links an owner to a person of the provider; a person that is linked already is a duplicate. */
export async function linkOwner(
  sql: Sql,
  ownerId: number,
  { issuer, subject }: Identity,
  nowMs: number,
): Promise<void> {
  await sql.query(
    'INSERT INTO owner_oidc (issuer, subject, owner_id, created_at) VALUES ($1, $2, $3, to_timestamp($4::float8 / 1000))',
    [issuer, subject, ownerId, nowMs],
  );
}
