import { isDuplicate } from '../store/connection.ts';
import type { Sql } from '../store/sql.ts';
import { domainOf } from './email.ts';
import type { Oidc, OidcFault, OidcIdentity } from './oidc.ts';
import { findLinkedOwner, linkedSubject, linkOwner } from './oidc-sql.ts';
import { findOwner, findOwnerByEmail, insertOwner, type OwnerCredentials } from './owners-sql.ts';
import {
  addressOf,
  countedAttempt,
  type SignIn,
  type SignInClient,
  type SignInOutcome,
  type SignInParts,
} from './sign-in.ts';

/** Creates an account in a transaction; returns its id. */
export type AccountCreator = (
  sql: Sql,
  account: { readonly name: string; readonly email: string },
) => Promise<number>;

/**
 * Why a sign-in at the provider opens no session. `email_not_confirmed`: only the owner stated the
 * address, no operator confirmed it. `other_identity`: another person of the provider is linked to
 * that owner.
 */
export type OidcRefusal =
  | OidcFault
  | 'domain_not_allowed'
  | 'no_account'
  | 'email_not_confirmed'
  | 'other_identity';

/** Signs owners in by OpenID Connect. */
export class OidcSignIn {
  readonly #parts: SignInParts;
  readonly #signIn: SignIn;
  readonly #oidc: Oidc;
  readonly #createAccount: AccountCreator;

  constructor(parts: SignInParts, signIn: SignIn, oidc: Oidc, createAccount: AccountCreator) {
    this.#parts = parts;
    this.#signIn = signIn;
    this.#oidc = oidc;
    this.#createAccount = createAccount;
  }

  /** What the sign-in page calls the provider. */
  get name(): string {
    return this.#oidc.settings.name;
  }

  /** Where to send the browser; null when the provider cannot be reached. */
  begin(redirectUri: string): ReturnType<Oidc['begin']> {
    return this.#oidc.begin(redirectUri);
  }

  /** Signs in the person with whom the provider sent the browser back. */
  async end(
    step: string,
    returned: URL,
    client: SignInClient,
  ): Promise<SignInOutcome | { readonly kind: 'refused'; readonly why: OidcRefusal }> {
    return countedAttempt(this.#parts, [addressOf(client)], async () => {
      const identity = await this.#oidc.end(step, returned);
      if (typeof identity === 'string') return { kind: 'refused', why: identity } as const;
      const { allowedDomains } = this.#oidc.settings;
      if (allowedDomains.length > 0 && !allowedDomains.includes(domainOf(identity.email)))
        return { kind: 'refused', why: 'domain_not_allowed' } as const;
      const once = () =>
        this.#parts.database.transaction(async (sql) => {
          const owner = await this.#ownerOf(sql, identity);
          if (typeof owner === 'string') return { kind: 'refused', why: owner } as const;
          return this.#signIn.openFor(sql, owner, 'oidc', client);
        });
      // Two first sign-ins of one person at the same time: the second finds what the first created.
      return once().catch((error: unknown) => {
        if (isDuplicate(error)) return once();
        throw error;
      });
    });
  }

  /** The owner of an identity: as linked before, by verified address, or a new one. */
  async #ownerOf(sql: Sql, identity: OidcIdentity): Promise<OwnerCredentials | OidcRefusal> {
    const { issuer, subject, email, name } = identity;
    const linkedId = await findLinkedOwner(sql, identity);
    const known = linkedId === null ? null : await findOwner(sql, linkedId);
    if (known !== null) return known;
    const nowMs = this.#parts.clock.now();
    const owner = await findOwnerByEmail(sql, email);
    if (owner !== null && !owner.emailVerified) return 'email_not_confirmed';
    if (owner === null && !this.#oidc.settings.createAccounts) return 'no_account';
    if (owner !== null) {
      const linked = await linkedSubject(sql, owner.ownerId, issuer);
      // A first sign-in at the same time may have linked the person since the query above.
      if (linked !== null) return linked === subject ? owner : 'other_identity';
    }
    const ownerId =
      owner?.ownerId ??
      (await insertOwner(sql, {
        accountId: await this.#createAccount(sql, { name: name ?? email.text, email: email.text }),
        email,
        emailVerified: true,
        name,
        password: null,
        createdAtMs: nowMs,
      }));
    await linkOwner(sql, ownerId, identity, nowMs);
    return (await findOwner(sql, ownerId)) ?? 'no_account';
  }
}
