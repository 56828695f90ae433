import { insertAccount } from '../accounts/accounts-sql.ts';
import type { OidcConfig } from '../config/config.ts';
import { createIdentity, type Identity } from '../identity/identity.ts';
import type { OperatorSessionHours } from '../identity/sessions.ts';
import type { Database } from '../store/database.ts';
import type { Clock } from '../time/clock.ts';

/**
 * Identity on an open database; `oidc` null: without an OpenID provider. `operatorSessions` absent:
 * it opens none, or of the default length.
 */
export function openIdentity(
  database: Database,
  clock: Clock,
  oidc: OidcConfig | null,
  operatorSessions?: OperatorSessionHours,
): Identity {
  return createIdentity({
    database,
    clock,
    oidc,
    ...(operatorSessions === undefined ? {} : { operatorSessions }),
    createAccount: (sql, account) => insertAccount(sql, { ...account, createdAtMs: clock.now() }),
  });
}
