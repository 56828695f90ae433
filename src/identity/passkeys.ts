import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server';
import { isDuplicate } from '../store/connection.ts';
import type { Database } from '../store/database.ts';
import type { Clock } from '../time/clock.ts';
import { findOwner, type OwnerCredentials } from './owners-sql.ts';
import {
  countUse,
  deletePasskey,
  findPasskey,
  insertPasskey,
  listPasskeys,
  type Passkey,
} from './passkeys-sql.ts';
import { beginStep, endStep } from './steps-sql.ts';

/**
 * EdDSA, ES256, RS256: what authenticators have. Without the list the library probes algorithms
 * that Node calls experimental.
 */
const algorithms = [-8, -7, -257];
/** How many passkeys an owner may have. */
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

/** Passkeys (WebAuthn). User verification is required, so a passkey alone is two factors. */
export class Passkeys {
  readonly #database: Database;
  readonly #clock: Clock;

  constructor(database: Database, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  /** Begins to add a passkey. Null when there is no such owner. */
  async beginRegistration(
    ownerId: number,
    site: PasskeySite,
  ): Promise<PasskeyChallenge<PublicKeyCredentialCreationOptionsJSON> | null> {
    const owner = await findOwner(this.#database, ownerId);
    if (owner === null) return null;
    const { generateRegistrationOptions } = await import('@simplewebauthn/server');
    const known = await listPasskeys(this.#database, ownerId);
    const options = await generateRegistrationOptions({
      rpName: 'Naru',
      rpID: site.host,
      userName: owner.email,
      userDisplayName: owner.name ?? owner.email,
      userID: new Uint8Array(owner.webauthnId),
      attestationType: 'none',
      supportedAlgorithmIDs: algorithms,
      excludeCredentials: known.map(({ credentialId, transports }) => ({
        id: credentialId.toString('base64url'),
        transports: [...transports],
      })),
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    });
    return this.#begin('passkey-registration', ownerId, options);
  }

  /** Adds the passkey that a browser made; null when the response is not to the challenge. */
  async register(
    ownerId: number,
    site: PasskeySite,
    reply: { readonly step: string; readonly name: string; readonly response: RegistrationResponseJSON },
  ): Promise<Passkey | null> {
    const step = await this.#end('passkey-registration', reply.step);
    if (step === null || step.ownerId !== ownerId) return null;
    const { verifyRegistrationResponse } = await import('@simplewebauthn/server');
    const verified = await verifyRegistrationResponse({
      response: reply.response,
      expectedChallenge: step.data.challenge,
      expectedOrigin: site.origin,
      expectedRPID: site.host,
      requireUserVerification: true,
      supportedAlgorithmIDs: algorithms,
    }).catch(() => null);
    if (verified?.verified !== true) return null;
    const { credential } = verified.registrationInfo;
    if ((await listPasskeys(this.#database, ownerId)).length >= maxPasskeys) return null;
    try {
      return await this.#database.transaction((sql) =>
        insertPasskey(sql, {
          credentialId: Buffer.from(credential.id, 'base64url'),
          ownerId,
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

  /**
   * The owner whose passkey signed the challenge; null when none did. A challenge is accepted
   * once.
   */
  async verify(
    site: PasskeySite,
    reply: { readonly step: string; readonly response: AuthenticationResponseJSON },
  ): Promise<OwnerCredentials | null> {
    const step = await this.#end('passkey', reply.step);
    if (step === null) return null;
    const passkey = await findPasskey(this.#database, Buffer.from(reply.response.id, 'base64url'));
    if (passkey === null) return null;
    const { verifyAuthenticationResponse } = await import('@simplewebauthn/server');
    const verified = await verifyAuthenticationResponse({
      response: reply.response,
      expectedChallenge: step.data.challenge,
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
      countUse(sql, passkey, verified.authenticationInfo.newCounter, this.#clock.now()),
    );
    return isCounted ? findOwner(this.#database, passkey.ownerId) : null;
  }

  /** The passkeys of an owner, oldest first. */
  list(ownerId: number): Promise<readonly Passkey[]> {
    return listPasskeys(this.#database, ownerId);
  }

  /** Removes a passkey of an owner; false when it has none with this id. */
  remove(ownerId: number, passkeyId: number): Promise<boolean> {
    return this.#database.transaction((sql) => deletePasskey(sql, ownerId, passkeyId));
  }

  async #begin<Options extends { readonly challenge: string }>(
    kind: 'passkey' | 'passkey-registration',
    ownerId: number | null,
    options: Options,
  ): Promise<PasskeyChallenge<Options>> {
    const begun = { kind, ownerId, data: { challenge: options.challenge } };
    const step = await this.#database.transaction((sql) => beginStep(sql, begun, this.#clock.now()));
    return { step, options };
  }

  #end(kind: 'passkey' | 'passkey-registration', token: string) {
    return this.#database.transaction((sql) =>
      endStep<{ readonly challenge: string }>(sql, kind, token, this.#clock.now()),
    );
  }
}
