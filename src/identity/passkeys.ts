import type {
  AuthenticationResponseJSON,
  AuthenticatorTransport,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server';
import { isDuplicate } from '../store/connection.ts';
import type { Database } from '../store/database.ts';
import type { Clock } from '../time/clock.ts';
import { findOwner, type OwnerCredentials } from './owners-sql.ts';
import { beginStep, endStep } from './steps.ts';

/** EdDSA, ES256, RS256: what authenticators have. Without the list the library probes algorithms that Node calls experimental. */
const algorithms = [-8, -7, -257];
/** How many passkeys an owner may have. */
const maxPasskeys = 20;

/** A passkey of an owner, for its list. */
export interface PasskeyRow {
  readonly passkeyId: number;
  readonly name: string;
  readonly createdAtMs: number;
  readonly lastUsedAtMs: number | null;
}

/** The site that passkeys are made for: the origin of the pages and its host name. */
export interface PasskeySite {
  readonly origin: string;
  readonly host: string;
}

/** What a browser needs, and the token of the answer. */
export interface PasskeyChallenge<Options> {
  readonly step: string;
  readonly options: Options;
}

interface RawPasskey {
  credential_id: Buffer;
  id: bigint;
  owner_id: bigint;
  public_key: Buffer;
  sign_count: bigint;
  transports: AuthenticatorTransport[];
  name: string;
  created_at: number;
  last_used_at: number | null;
}

/** The site of an origin; null where browsers permit no passkey: an IP address, or neither TLS nor localhost. */
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
    const known = await this.#rowsOf(ownerId);
    const options = await generateRegistrationOptions({
      rpName: 'Naru',
      rpID: site.host,
      userName: owner.email,
      userDisplayName: owner.name ?? owner.email,
      userID: new Uint8Array(owner.webauthnId),
      attestationType: 'none',
      supportedAlgorithmIDs: algorithms,
      excludeCredentials: known.map((row) => ({
        id: row.credential_id.toString('base64url'),
        transports: row.transports,
      })),
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    });
    const step = await this.#database.transaction((sql) =>
      beginStep(
        sql,
        { kind: 'passkey-registration', ownerId, data: { challenge: options.challenge } },
        this.#clock.now(),
      ),
    );
    return { step, options };
  }

  /** Adds the passkey that a browser made; null when the response does not answer the challenge. */
  async register(
    ownerId: number,
    site: PasskeySite,
    answer: { readonly step: string; readonly name: string; readonly response: RegistrationResponseJSON },
  ): Promise<PasskeyRow | null> {
    const nowMs = this.#clock.now();
    const step = await this.#database.transaction((sql) =>
      endStep<{ challenge: string }>(sql, 'passkey-registration', answer.step, nowMs),
    );
    if (step === null || step.ownerId !== ownerId) return null;
    const { verifyRegistrationResponse } = await import('@simplewebauthn/server');
    const verified = await verifyRegistrationResponse({
      response: answer.response,
      expectedChallenge: step.data.challenge,
      expectedOrigin: site.origin,
      expectedRPID: site.host,
      requireUserVerification: true,
      supportedAlgorithmIDs: algorithms,
    }).catch(() => null);
    if (verified?.verified !== true) return null;
    const { credential } = verified.registrationInfo;
    if ((await this.#rowsOf(ownerId)).length >= maxPasskeys) return null;
    try {
      return await this.#database.transaction(async (sql) => {
        const [row] = await sql.query<RawPasskey>(
          `INSERT INTO passkey (credential_id, owner_id, public_key, sign_count, transports, name, created_at)
           VALUES ($1, $2, $3, $4, $5, $6, to_timestamp($7::float8 / 1000)) RETURNING *`,
          [
            Buffer.from(credential.id, 'base64url'),
            ownerId,
            Buffer.from(credential.publicKey),
            credential.counter,
            credential.transports ?? [],
            answer.name,
            nowMs,
          ],
        );
        return row === undefined ? null : rowOf(row);
      });
    } catch (error) {
      if (isDuplicate(error)) return null;
      throw error;
    }
  }

  /** Begins a sign-in with any passkey of the site. */
  async beginSignIn(site: PasskeySite): Promise<PasskeyChallenge<PublicKeyCredentialRequestOptionsJSON>> {
    const { generateAuthenticationOptions } = await import('@simplewebauthn/server');
    const options = await generateAuthenticationOptions({ rpID: site.host, userVerification: 'required' });
    const step = await this.#database.transaction((sql) =>
      beginStep(
        sql,
        { kind: 'passkey', ownerId: null, data: { challenge: options.challenge } },
        this.#clock.now(),
      ),
    );
    return { step, options };
  }

  /** The owner whose passkey answers the challenge; null when none does. A challenge is answered once. */
  async verify(
    site: PasskeySite,
    answer: { readonly step: string; readonly response: AuthenticationResponseJSON },
  ): Promise<OwnerCredentials | null> {
    const nowMs = this.#clock.now();
    const step = await this.#database.transaction((sql) =>
      endStep<{ challenge: string }>(sql, 'passkey', answer.step, nowMs),
    );
    if (step === null) return null;
    const id = Buffer.from(answer.response.id, 'base64url');
    const [row] = await this.#database.query<RawPasskey>('SELECT * FROM passkey WHERE credential_id = $1', [
      id,
    ]);
    if (row === undefined) return null;
    const { verifyAuthenticationResponse } = await import('@simplewebauthn/server');
    const verified = await verifyAuthenticationResponse({
      response: answer.response,
      expectedChallenge: step.data.challenge,
      expectedOrigin: site.origin,
      expectedRPID: site.host,
      requireUserVerification: true,
      credential: {
        id: row.credential_id.toString('base64url'),
        publicKey: new Uint8Array(row.public_key),
        counter: Number(row.sign_count),
        transports: row.transports,
      },
    }).catch(() => null);
    if (verified?.verified !== true) return null;
    const used = await this.#database.transaction((sql) =>
      sql.query(
        `UPDATE passkey SET sign_count = $2, last_used_at = to_timestamp($3::float8 / 1000)
         WHERE credential_id = $1 AND sign_count = $4 RETURNING id`,
        [row.credential_id, verified.authenticationInfo.newCounter, nowMs, row.sign_count],
      ),
    );
    return used.length === 0 ? null : findOwner(this.#database, Number(row.owner_id));
  }

  /** The passkeys of an owner, oldest first. */
  async list(ownerId: number): Promise<readonly PasskeyRow[]> {
    return (await this.#rowsOf(ownerId)).map(rowOf);
  }

  /** Removes a passkey of an owner; false when it has none with this id. */
  async remove(ownerId: number, passkeyId: number): Promise<boolean> {
    const rows = await this.#database.transaction((sql) =>
      sql.query('DELETE FROM passkey WHERE id = $1 AND owner_id = $2 RETURNING id', [passkeyId, ownerId]),
    );
    return rows.length > 0;
  }

  #rowsOf(ownerId: number): Promise<readonly RawPasskey[]> {
    return this.#database.query<RawPasskey>('SELECT * FROM passkey WHERE owner_id = $1 ORDER BY id', [
      ownerId,
    ]);
  }
}

function rowOf(row: RawPasskey): PasskeyRow {
  return {
    passkeyId: Number(row.id),
    name: row.name,
    createdAtMs: row.created_at,
    lastUsedAtMs: row.last_used_at,
  };
}
