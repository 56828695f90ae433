import { insertAccount } from '../accounts/accounts-sql.ts';
import type { OidcConfig } from '../config/config.ts';
import { createIdentity, type Identity } from '../identity/identity.ts';
import type { Database } from '../store/database.ts';
import type { Clock } from '../time/clock.ts';

/** Identity on an open database; `oidc` null: without an OpenID provider. */
export function openIdentity(database: Database, clock: Clock, oidc: OidcConfig | null): Identity {
  return createIdentity({
    database,
    clock,
    oidc,
    createAccount: (sql, account) => insertAccount(sql, { ...account, createdAtMs: clock.now() }),
  });
}
