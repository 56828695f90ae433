import type { OidcConfig } from '../config/config.ts';
import type { Database } from '../store/database.ts';
import type { Clock } from '../time/clock.ts';
import type { Act, Actor, AuditQuery, AuditRow } from './audit.ts';
import { readActs, recordAct } from './audit-sql.ts';
import { OneTimeLinks } from './links.ts';
import { Oidc } from './oidc.ts';
import { type AccountCreator, OidcSignIn } from './oidc-sign-in.ts';
import { Operators } from './operators.ts';
import { Owners } from './owners.ts';
import { Passkeys } from './passkeys.ts';
import { PasswordHasher } from './password-hasher.ts';
import { type Session, Sessions } from './sessions.ts';
import { SignIn } from './sign-in.ts';
import { pruneSteps } from './steps-sql.ts';
import { SignInThrottle } from './throttle.ts';

/** What identity needs. */
export interface IdentityParts {
  readonly database: Database;
  readonly clock: Clock;
  /** Null: sign-in by OpenID Connect is off. */
  readonly oidc: OidcConfig | null;
  /** Creates an account for a person of the OpenID provider; accounts belong to another room. */
  readonly createAccount: AccountCreator;
  /** Absent: hashes of the full cost. */
  readonly hasher?: PasswordHasher;
}

/**
 * Who may use the dashboard and the console, and what operators did (docs/decisions/identity.md).
 * Everything is in the database, so all nodes agree at once.
 */
export interface Identity {
  readonly sessions: Sessions;
  readonly signIn: SignIn;
  readonly owners: Owners;
  readonly passkeys: Passkeys;
  readonly links: OneTimeLinks;
  readonly operators: Operators;
  /** Null: not configured. */
  readonly oidc: OidcSignIn | null;
  /** The session of a cookie's token; null when it does not exist, has ended or was revoked. */
  findSession(token: string): Promise<Session | null>;
  /** Records an act that has no transaction of its own. */
  recordAct(actor: Actor, act: Act): Promise<void>;
  readActs(query: AuditQuery): Promise<readonly AuditRow[]>;
  /** Deletes expired sessions, links, steps and counted attempts; called regularly. */
  prune(): Promise<void>;
}

/** Builds identity on an open database. It opens nothing that must be closed. */
export function createIdentity(order: IdentityParts): Identity {
  const { database, clock, oidc, createAccount, hasher = new PasswordHasher() } = order;
  const sessions = new Sessions(database, clock);
  const links = new OneTimeLinks(database, clock);
  const passkeys = new Passkeys(database, clock);
  const throttle = new SignInThrottle(database);
  const parts = { database, clock, sessions, links, passkeys, throttle, hasher };
  const signIn = new SignIn(parts);
  return {
    sessions,
    links,
    passkeys,
    signIn,
    owners: new Owners(parts, signIn),
    operators: new Operators(database, clock),
    oidc:
      oidc === null ? null : new OidcSignIn(parts, signIn, new Oidc(oidc, database, clock), createAccount),
    findSession: (token) => sessions.find(token),
    recordAct: (actor, act) => database.transaction((sql) => recordAct(sql, actor, act, clock.now())),
    readActs: (query) => readActs(database, query),
    prune: () =>
      database.transaction(async (sql) => {
        await sessions.prune(sql);
        await links.prune(sql);
        await pruneSteps(sql, clock.now());
        await throttle.prune(sql, clock.now());
      }),
  };
}
