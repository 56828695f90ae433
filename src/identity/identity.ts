import type { OidcConfig } from '../config/config.ts';
import type { Database } from '../store/database.ts';
import type { Clock } from '../time/clock.ts';
import type { Act, Actor } from './audit.ts';
import { type AuditQuery, readActs, recordAct } from './audit-sql.ts';
import { OneTimeLinks } from './links.ts';
import { type AccountCreator, OidcSignIn } from './oidc.ts';
import { OperatorTokens } from './operator-tokens.ts';
import { Operators } from './operators.ts';
import { Owners } from './owners.ts';
import { Passkeys } from './passkeys.ts';
import { PasswordHasher } from './password-hasher.ts';
import { type OperatorSessionHours, Sessions } from './sessions.ts';
import { pruneExpired } from './sessions-sql.ts';
import { SignIn } from './sign-in.ts';
import { SignInThrottle } from './throttle.ts';

/** What identity needs. */
interface IdentityParts {
  readonly database: Database;
  readonly clock: Clock;
  /** Null: sign-in by OpenID Connect is off. */
  readonly oidc: OidcConfig | null;
  /** Absent: an operator's session lasts a day. */
  readonly operatorSessions?: OperatorSessionHours;
  /** Creates an account for a person of the OpenID provider; accounts belong to another room. */
  readonly createAccount: AccountCreator;
  /** Absent: hashes of the full cost. */
  readonly hasher?: PasswordHasher;
}

/**
 * Who may use the dashboard and the console, and what operators did (docs/decisions/identity.md).
 * Everything is in the database, so all nodes agree at once.
 */
export type Identity = ReturnType<typeof createIdentity>;

/** Builds identity on an open database. It opens nothing that must be closed. */
export function createIdentity(order: IdentityParts) {
  const { database, clock, oidc, createAccount, hasher = new PasswordHasher() } = order;
  const sessions = new Sessions(
    database,
    clock,
    order.operatorSessions ?? { sessionHours: 24, sessionIdleHours: 12 },
  );
  const links = new OneTimeLinks(database, clock);
  const passkeys = new Passkeys(database, clock, 'owner');
  const operatorPasskeys = new Passkeys(database, clock, 'operator');
  const throttle = new SignInThrottle(database, clock);
  const parts = { database, clock, sessions, links, passkeys, operatorPasskeys, throttle, hasher };
  const operatorTokens = new OperatorTokens(database, clock);
  const signIn = new SignIn(parts);
  const operators = new Operators(database, clock);
  return {
    sessions,
    links,
    passkeys,
    operatorPasskeys,
    signIn,
    owners: new Owners(parts, signIn),
    operators,
    tokens: operatorTokens,
    /** Null: not configured. */
    oidc: oidc === null ? null : new OidcSignIn(oidc, { ...parts, operators, signIn, createAccount }),
    /** The session of a cookie's token; null when it does not exist, has ended or was revoked. */
    findSession: (token: string) => sessions.find(token),
    /** Who sends an operator's token; null when it does not exist, has expired or was revoked. */
    findOperatorToken: (token: string) => operatorTokens.find(token),
    /** Counts a wrong token of an operator; returns in how many seconds the next may be sent, or null. */
    countWrongToken: (limitedAs: string) => throttle.take([{ kind: 'token', value: limitedAs }]),
    /** Records an act that has no transaction of its own. */
    recordAct: (actor: Actor, act: Act) =>
      database.transaction((sql) => recordAct(sql, actor, act, clock.now())),
    readActs: (query: AuditQuery) => readActs(database, query),
    /** Deletes what has expired; called regularly. */
    prune: () => database.transaction((sql) => pruneExpired(sql, clock.now())),
  };
}
