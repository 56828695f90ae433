import type { Configuration } from 'openid-client';
import type { OidcConfig } from '../config/config.ts';
import { isDuplicate } from '../store/connection.ts';
import type { Sql } from '../store/sql.ts';
import { type OperatorRole, operatorRoles } from './audit.ts';
import { domainOf, parseEmail } from './email.ts';
import { findLinkedOwner, linkOwner, listOidcIdentities } from './oidc-sql.ts';
import type { AdmitFault, Operators, ProviderPerson } from './operators.ts';
import { findOwner, findOwnerByEmail, insertOwner, type OwnerCredentials } from './owners-sql.ts';
import type { SignInClient } from './sessions.ts';
import type { SignIn, SignInOutcome, SignInParts } from './sign-in.ts';
import { beginStep, endStep } from './steps-sql.ts';
import { addressOf } from './throttle.ts';

/** Creates an account in a transaction; returns its id. */
export type AccountCreator = (
  sql: Sql,
  account: { readonly name: string; readonly email: string },
) => Promise<number>;

/** Who signed in at the provider. */
interface Person extends ProviderPerson {
  readonly name: string | null;
  /** The highest role of its groups; null: they have none. */
  readonly role: OperatorRole | null;
}

/** Who signs in: an owner to the dashboard, or an operator to the console. */
type Kind = 'owner' | 'operator';

interface OidcParts extends SignInParts {
  readonly operators: Operators;
  readonly signIn: SignIn;
  readonly createAccount: AccountCreator;
}

/**
 * Why a sign-in at the provider opens no session. `email_not_confirmed`: only the owner stated the
 * address, no operator confirmed it. `other_identity`: another person of the provider is linked to
 * that owner.
 */
type OidcRefusal =
  | AdmitFault
  | 'invalid_state'
  | 'provider_failed'
  | 'email_not_verified'
  | 'domain_not_allowed'
  | 'no_account'
  | 'email_not_confirmed';

/** How long the provider may take to respond. */
const providerTimeoutSec = 8;
/** The provider's description is read again after this long: its keys and addresses may change. */
const refreshMs = 3_600_000;

interface StepData {
  readonly of: Kind;
  readonly verifier: string;
  readonly state: string;
  readonly nonce: string;
}

/** Signs people in by OpenID Connect: the authorization code flow with PKCE, state and nonce. */
export class OidcSignIn {
  readonly #settings: OidcConfig;
  readonly #parts: OidcParts;
  #found: { readonly configuration: Promise<Configuration>; readonly atMs: number } | null = null;

  constructor(settings: OidcConfig, parts: OidcParts) {
    this.#settings = settings;
    this.#parts = parts;
  }

  /** What the sign-in page calls the provider. */
  get name(): string {
    return this.#settings.name;
  }

  /** Whether operators sign in at the provider. */
  get isForOperators(): boolean {
    return Object.keys(this.#settings.operatorRoles).length > 0;
  }

  /**
   * Begins a sign-in: where to send the browser, and the token that binds its return to this
   * browser. Null when the provider cannot be reached.
   */
  async begin(
    of: Kind,
    redirectUri: string,
  ): Promise<{ readonly url: string; readonly step: string } | null> {
    const client = await import('openid-client');
    const configuration = await this.#configuration().catch(() => null);
    if (configuration === null) return null;
    const data: StepData = {
      of,
      verifier: client.randomPKCECodeVerifier(),
      state: client.randomState(),
      nonce: client.randomNonce(),
    };
    const url = client.buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUri,
      scope: this.#scopeOf(of, configuration),
      code_challenge: await client.calculatePKCECodeChallenge(data.verifier),
      code_challenge_method: 'S256',
      state: data.state,
      nonce: data.nonce,
    });
    const { database, clock } = this.#parts;
    const step = await database.transaction((sql) =>
      beginStep(sql, { kind: 'oidc', ownerId: null, data }, clock.now()),
    );
    return { url: url.href, step };
  }

  /**
   * Signs in the person with whom the provider sent the browser back, to the address `returned`. A
   * step is used once, and only where and with the state that it began with.
   */
  async end(
    of: Kind,
    step: string,
    returned: URL,
    client: SignInClient,
  ): Promise<SignInOutcome | { readonly kind: 'refused'; readonly why: OidcRefusal }> {
    const { database, throttle } = this.#parts;
    return throttle.attempt([addressOf(client)], async () => {
      const person = await this.#personOf(of, step, returned);
      if (typeof person === 'string') return refused(person);
      const { allowedDomains } = this.#settings;
      if (allowedDomains.length > 0 && !allowedDomains.includes(domainOf(person.email)))
        return refused('domain_not_allowed');
      const once = () =>
        database.transaction(async (sql) => {
          const { operators, signIn } = this.#parts;
          if (of === 'operator') {
            const operator = await operators.admit(sql, person, person.role);
            if (typeof operator === 'string') return refused(operator);
            return signIn.openConsole(sql, operator, 'oidc', client);
          }
          const owner = await this.#ownerOf(sql, person);
          if (typeof owner === 'string') return refused(owner);
          return signIn.open(sql, owner, 'oidc', client);
        });
      // Two first sign-ins of one person at the same time: the second finds what the first created.
      return once().catch((error: unknown) => {
        if (isDuplicate(error)) return once();
        throw error;
      });
    });
  }

  async #personOf(of: Kind, step: string, returned: URL): Promise<Person | OidcRefusal> {
    const { database, clock } = this.#parts;
    const begun = await database.transaction((sql) => endStep<StepData>(sql, 'oidc', step, clock.now()));
    if (begun?.data.of !== of || returned.searchParams.get('state') !== begun.data.state)
      return 'invalid_state';
    const { state, nonce, verifier } = begun.data;
    try {
      const client = await import('openid-client');
      const configuration = await this.#configuration();
      const tokens = await client.authorizationCodeGrant(configuration, returned, {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      });
      const idToken = tokens.claims();
      if (idToken === undefined) return 'provider_failed';
      const { iss: issuer, sub: subject } = idToken;
      // Many providers state the address or the groups only there.
      const wanted = ['email', ...(of === 'operator' ? [this.#settings.groupsClaim] : [])];
      const hasMore = configuration.serverMetadata().userinfo_endpoint !== undefined;
      const more =
        hasMore && wanted.some((claim) => idToken[claim] === undefined)
          ? await client.fetchUserInfo(configuration, tokens.access_token, subject)
          : {};
      const claims: Readonly<Record<string, unknown>> = { ...more, ...idToken };
      const { email_verified: isVerified = this.#settings.assumesVerifiedEmail, name } = claims;
      const email = typeof claims['email'] === 'string' ? parseEmail(claims['email']) : null;
      if (email === null || isVerified !== true) return 'email_not_verified';
      const role = this.#roleOf(claims[this.#settings.groupsClaim]);
      return { issuer, subject, email, name: typeof name === 'string' ? name.slice(0, 200) : null, role };
    } catch {
      return 'provider_failed';
    }
  }

  /** With the scope of the groups where the provider has one: some need it, and others refuse an unknown one. */
  #scopeOf(of: Kind, configuration: Configuration): string {
    const { groupsClaim } = this.#settings;
    const isScope = configuration.serverMetadata().scopes_supported?.includes(groupsClaim) === true;
    return `openid email profile${of === 'operator' && isScope ? ` ${groupsClaim}` : ''}`;
  }

  /** The highest role of the groups in a claim, which lists them, or is the only one. */
  #roleOf(claim: unknown): OperatorRole | null {
    const groups: readonly unknown[] = Array.isArray(claim) ? claim : [claim];
    const { operatorRoles: byGroup } = this.#settings;
    const has = (role: OperatorRole) =>
      groups.some(
        (group) => typeof group === 'string' && Object.hasOwn(byGroup, group) && byGroup[group] === role,
      );
    return operatorRoles.findLast(has) ?? null;
  }

  /** The owner of a person: as linked before, by verified address, or a new one. */
  async #ownerOf(sql: Sql, person: Person): Promise<OwnerCredentials | OidcRefusal> {
    const { issuer, subject, email, name } = person;
    const linkedId = await findLinkedOwner(sql, person);
    const known = linkedId === null ? null : await findOwner(sql, linkedId);
    if (known !== null) return known;
    const createdAtMs = this.#parts.clock.now();
    let owner = await findOwnerByEmail(sql, email);
    if (owner !== null) {
      if (!owner.emailVerified) return 'email_not_confirmed';
      const linked = await listOidcIdentities(sql, owner.ownerId);
      const other = linked.find((one) => one.issuer === issuer);
      // A first sign-in at the same time may have linked the person since the query above.
      if (other !== undefined) return other.subject === subject ? owner : 'other_identity';
    } else {
      if (!this.#settings.createAccounts) return 'no_account';
      const accountId = await this.#parts.createAccount(sql, { name: name ?? email.text, email: email.text });
      owner = await insertOwner(sql, {
        accountId,
        email,
        emailVerified: true,
        name,
        password: null,
        createdAtMs,
      });
    }
    await linkOwner(sql, owner.ownerId, { issuer, subject, createdAtMs });
    return owner;
  }

  #configuration(): Promise<Configuration> {
    const nowMs = this.#parts.clock.monotonic();
    if (this.#found !== null && nowMs - this.#found.atMs < refreshMs) return this.#found.configuration;
    const configuration = discoverIssuer(this.#settings);
    const found = { configuration, atMs: nowMs };
    this.#found = found;
    configuration.catch(() => {
      if (this.#found === found) this.#found = null;
    });
    return configuration;
  }
}

/** Reads the provider's description of itself. Rejects when it cannot be read. */
export async function discoverIssuer(settings: OidcConfig): Promise<Configuration> {
  const client = await import('openid-client');
  const { issuer, clientId, clientSecret } = settings;
  const url = new URL(issuer);
  return client.discovery(url, clientId, undefined, client.ClientSecretBasic(clientSecret.reveal()), {
    timeout: providerTimeoutSec,
    // The schema accepts http:// for a loopback address only.
    execute: url.protocol === 'http:' ? [client.allowInsecureRequests] : [],
  });
}

function refused(why: OidcRefusal): { readonly kind: 'refused'; readonly why: OidcRefusal } {
  return { kind: 'refused', why };
}
