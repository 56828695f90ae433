import { insertAccount } from '../accounts/accounts-sql.ts';
import type { Config } from '../config/config.ts';
import { createIdentity, type Identity } from '../identity/identity.ts';
import type { Database } from '../store/database.ts';
import type { Clock } from '../time/clock.ts';

/** Identity on an open database, as the configuration describes it. */
export function openIdentity(database: Database, clock: Clock, { auth }: Pick<Config, 'auth'>): Identity {
  return createIdentity({
    database,
    clock,
    oidc: auth.oidc,
    createAccount: (sql, account) => insertAccount(sql, { ...account, createdAtMs: clock.now() }),
  });
}
