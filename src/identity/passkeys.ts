import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server';
import { isDuplicate } from '../store/connection.ts';
import type { Database } from '../store/database.ts';
import type { Clock } from '../time/clock.ts';
import { findOperatorById } from './operators-sql.ts';
import { findOwner } from './owners-sql.ts';
import {
  countUse,
  deletePasskeys,
  findPasskey,
  insertPasskey,
  listPasskeys,
  type Passkey,
  type PasskeyHolder,
} from './passkeys-sql.ts';
import { beginStep, endStep } from './steps-sql.ts';

/**
 * EdDSA, ES256, RS256: what authenticators have. Without the list the library probes algorithms
 * that Node calls experimental.
 */
const algorithms = [-8, -7, -257];
/** How many passkeys a person may have. */
const maxPasskeys = 20;

/** The site that passkeys are made for: the origin of the pages and its host name. */
export interface PasskeySite {
  readonly origin: string;
  readonly host: string;
}

/** What a browser needs, and the token that continues the step. */
export interface PasskeyChallenge<Options> {
  readonly step: string;
  readonly options: Options;
}

interface StepData {
  readonly challenge: string;
  readonly holder: PasskeyHolder;
  /** Null: of a sign-in. */
  readonly holderId: number | null;
}

/**
 * The site of an origin; null where browsers permit no passkey: an IP address, or neither TLS nor
 * localhost.
 */
export function passkeySite(origin: string): PasskeySite | null {
  const url = URL.parse(origin);
  if (url === null) return null;
  const isName = !/^[\d.]+$|^\[/.test(url.hostname);
  return isName && (url.protocol === 'https:' || url.hostname === 'localhost')
    ? { origin: url.origin, host: url.hostname }
    : null;
}

/**
 * The passkeys (WebAuthn) of owners, or of operators. User verification is required, so a passkey alone
 * is two factors.
 */
export class Passkeys {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #holder: PasskeyHolder;

  constructor(database: Database, clock: Clock, holder: PasskeyHolder) {
    this.#database = database;
    this.#clock = clock;
    this.#holder = holder;
  }

  /** Begins to add a passkey. Null when there is no such person, or it may have none. */
  async beginRegistration(
    holderId: number,
    site: PasskeySite,
  ): Promise<PasskeyChallenge<PublicKeyCredentialCreationOptionsJSON> | null> {
    const user = await this.#userOf(holderId);
    if (user === null) return null;
    const { generateRegistrationOptions } = await import('@simplewebauthn/server');
    const known = await listPasskeys(this.#database, this.#holder, holderId);
    const options = await generateRegistrationOptions({
      rpName: 'Naru',
      rpID: site.host,
      ...user,
      attestationType: 'none',
      supportedAlgorithmIDs: algorithms,
      excludeCredentials: known.map(({ credentialId, transports }) => ({
        id: credentialId.toString('base64url'),
        transports: [...transports],
      })),
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    });
    return this.#begin('passkey-registration', holderId, options);
  }

  /** Adds the passkey that a browser made; null when the response is not to the challenge. */
  async register(
    holderId: number,
    site: PasskeySite,
    reply: { readonly step: string; readonly name: string; readonly response: RegistrationResponseJSON },
  ): Promise<Passkey | null> {
    const step = await this.#end('passkey-registration', reply.step);
    if (step === null || step.holderId !== holderId) return null;
    const { verifyRegistrationResponse } = await import('@simplewebauthn/server');
    const verified = await verifyRegistrationResponse({
      response: reply.response,
      expectedChallenge: step.challenge,
      expectedOrigin: site.origin,
      expectedRPID: site.host,
      requireUserVerification: true,
      supportedAlgorithmIDs: algorithms,
    }).catch(() => null);
    if (verified?.verified !== true) return null;
    const { credential } = verified.registrationInfo;
    if ((await this.list(holderId)).length >= maxPasskeys) return null;
    try {
      return await this.#database.transaction((sql) =>
        insertPasskey(sql, this.#holder, {
          credentialId: Buffer.from(credential.id, 'base64url'),
          holderId,
          publicKey: Buffer.from(credential.publicKey),
          signCount: credential.counter,
          transports: credential.transports ?? [],
          name: reply.name,
          createdAtMs: this.#clock.now(),
        }),
      );
    } catch (error) {
      if (isDuplicate(error)) return null;
      throw error;
    }
  }

  /** Begins a sign-in with any passkey of the site. */
  async beginSignIn(site: PasskeySite): Promise<PasskeyChallenge<PublicKeyCredentialRequestOptionsJSON>> {
    const { generateAuthenticationOptions } = await import('@simplewebauthn/server');
    const options = await generateAuthenticationOptions({ rpID: site.host, userVerification: 'required' });
    return this.#begin('passkey', null, options);
  }

  /** Whose passkey signed the challenge; null when none did. A challenge is accepted once. */
  async verify(
    site: PasskeySite,
    reply: { readonly step: string; readonly response: AuthenticationResponseJSON },
  ): Promise<number | null> {
    const step = await this.#end('passkey', reply.step);
    if (step === null) return null;
    const credentialId = Buffer.from(reply.response.id, 'base64url');
    const passkey = await findPasskey(this.#database, this.#holder, credentialId);
    if (passkey === null) return null;
    const { verifyAuthenticationResponse } = await import('@simplewebauthn/server');
    const verified = await verifyAuthenticationResponse({
      response: reply.response,
      expectedChallenge: step.challenge,
      expectedOrigin: site.origin,
      expectedRPID: site.host,
      requireUserVerification: true,
      credential: {
        id: passkey.credentialId.toString('base64url'),
        publicKey: new Uint8Array(passkey.publicKey),
        counter: passkey.signCount,
        transports: [...passkey.transports],
      },
    }).catch(() => null);
    if (verified?.verified !== true) return null;
    const isCounted = await this.#database.transaction((sql) =>
      countUse(sql, this.#holder, passkey, verified.authenticationInfo.newCounter, this.#clock.now()),
    );
    return isCounted ? passkey.holderId : null;
  }

  /** The passkeys of a person, oldest first. */
  list(holderId: number): Promise<readonly Passkey[]> {
    return listPasskeys(this.#database, this.#holder, holderId);
  }

  /** Whether a person may have passkeys: not an operator of the OpenID provider, whose groups decide. */
  async mayHave(holderId: number): Promise<boolean> {
    return (await this.#userOf(holderId)) !== null;
  }

  /** Removes a passkey of a person; false when it has none with this id. */
  remove(holderId: number, passkeyId: number): Promise<boolean> {
    return this.#database.transaction((sql) => deletePasskeys(sql, this.#holder, holderId, passkeyId));
  }

  /** What an authenticator shows of a person. Null: gone, or an operator for whom the OpenID provider decides. */
  async #userOf(holderId: number) {
    if (this.#holder === 'operator') {
      const operator = await findOperatorById(this.#database, holderId);
      return operator === null || operator.oidcIssuer !== null ? null : { userName: operator.name };
    }
    const owner = await findOwner(this.#database, holderId);
    if (owner === null) return null;
    const { email, name, webauthnId } = owner;
    return { userName: email, userDisplayName: name ?? email, userID: new Uint8Array(webauthnId) };
  }

  async #begin<Options extends { readonly challenge: string }>(
    kind: 'passkey' | 'passkey-registration',
    holderId: number | null,
    options: Options,
  ): Promise<PasskeyChallenge<Options>> {
    const ownerId = this.#holder === 'owner' ? holderId : null;
    const data: StepData = { challenge: options.challenge, holder: this.#holder, holderId };
    const step = await this.#database.transaction((sql) =>
      beginStep(sql, { kind, ownerId, data }, this.#clock.now()),
    );
    return { step, options };
  }

  async #end(kind: 'passkey' | 'passkey-registration', token: string): Promise<StepData | null> {
    const step = await this.#database.transaction((sql) =>
      endStep<StepData>(sql, kind, token, this.#clock.now()),
    );
    return step?.data.holder === this.#holder ? step.data : null;
  }
}
