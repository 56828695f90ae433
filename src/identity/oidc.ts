import type { Configuration } from 'openid-client';
import type { OidcConfig } from '../config/config.ts';
import type { Database } from '../store/database.ts';
import type { Clock } from '../time/clock.ts';
import { type Email, parseEmail } from './email.ts';
import { beginStep, endStep } from './steps-sql.ts';

/** Who signed in at the provider. */
export interface OidcIdentity {
  readonly issuer: string;
  readonly subject: string;
  readonly email: Email;
  readonly name: string | null;
}

/** Why a sign-in at the provider opens no session. */
export type OidcFault = 'invalid_state' | 'provider_failed' | 'email_not_verified';

/** How long the provider may take to respond. */
const providerTimeoutSec = 8;
/** The provider's description is read again after this long: its keys and addresses may change. */
const refreshMs = 3_600_000;

interface StepData {
  readonly verifier: string;
  readonly state: string;
  readonly nonce: string;
}

/** OpenID Connect by the authorization code flow with PKCE, state and nonce. */
export class Oidc {
  readonly settings: OidcConfig;
  readonly #database: Database;
  readonly #clock: Clock;
  #found: { readonly configuration: Promise<Configuration>; readonly atMs: number } | null = null;

  constructor(settings: OidcConfig, database: Database, clock: Clock) {
    this.settings = settings;
    this.#database = database;
    this.#clock = clock;
  }

  /**
   * Begins a sign-in: where to send the browser, and the token that binds its return to this
   * browser. Null when the provider cannot be reached.
   */
  async begin(redirectUri: string): Promise<{ readonly url: string; readonly step: string } | null> {
    const client = await import('openid-client');
    const configuration = await this.#configuration().catch(() => null);
    if (configuration === null) return null;
    const data: StepData = {
      verifier: client.randomPKCECodeVerifier(),
      state: client.randomState(),
      nonce: client.randomNonce(),
    };
    const url = client.buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUri,
      scope: 'openid email profile',
      code_challenge: await client.calculatePKCECodeChallenge(data.verifier),
      code_challenge_method: 'S256',
      state: data.state,
      nonce: data.nonce,
    });
    const step = await this.#database.transaction((sql) =>
      beginStep(sql, { kind: 'oidc', ownerId: null, data }, this.#clock.now()),
    );
    return { url: url.href, step };
  }

  /**
   * Ends a sign-in: `returned` is the address with which the provider sent the browser back. A step
   * is used once, and only with the state that it began with.
   */
  async end(step: string, returned: URL): Promise<OidcIdentity | OidcFault> {
    const begun = await this.#database.transaction((sql) =>
      endStep<StepData>(sql, 'oidc', step, this.#clock.now()),
    );
    if (begun === null || returned.searchParams.get('state') !== begun.data.state) return 'invalid_state';
    const { state, nonce, verifier } = begun.data;
    try {
      const client = await import('openid-client');
      const tokens = await client.authorizationCodeGrant(await this.#configuration(), returned, {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      });
      const idToken = tokens.claims();
      if (idToken === undefined) return 'provider_failed';
      const { iss, sub } = idToken;
      // Many providers state the address only here.
      const claims =
        idToken['email'] === undefined
          ? await client.fetchUserInfo(await this.#configuration(), tokens.access_token, sub)
          : idToken;
      const { email_verified: isVerified, name } = claims;
      const email = typeof claims['email'] === 'string' ? parseEmail(claims['email']) : null;
      if (email === null || isVerified !== true) return 'email_not_verified';
      return {
        issuer: iss,
        subject: sub,
        email,
        name: typeof name === 'string' ? name.slice(0, 200) : null,
      };
    } catch {
      return 'provider_failed';
    }
  }

  #configuration(): Promise<Configuration> {
    const nowMs = this.#clock.monotonic();
    if (this.#found !== null && nowMs - this.#found.atMs < refreshMs) return this.#found.configuration;
    const configuration = this.#discover();
    const found = { configuration, atMs: nowMs };
    this.#found = found;
    configuration.catch(() => {
      if (this.#found === found) this.#found = null;
    });
    return configuration;
  }

  async #discover(): Promise<Configuration> {
    const client = await import('openid-client');
    const { issuer, clientId, clientSecret } = this.settings;
    const url = new URL(issuer);
    return client.discovery(url, clientId, undefined, client.ClientSecretBasic(clientSecret.reveal()), {
      timeout: providerTimeoutSec,
      // The schema accepts http:// for a loopback address only.
      execute: url.protocol === 'http:' ? [client.allowInsecureRequests] : [],
    });
  }
}
