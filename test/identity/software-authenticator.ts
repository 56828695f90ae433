import { createHash, createSign, generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto';

/** What a test may get wrong on purpose. */
export interface AuthenticatorFlaws {
  readonly origin?: string;
  readonly host?: string;
  readonly challenge?: string;
  readonly type?: string;
  readonly isUserVerified?: boolean;
  readonly count?: number;
  /** Changes the signature. */
  readonly isForged?: boolean;
}

/**
 * A passkey in software: makes the bytes that a browser and an authenticator make (WebAuthn Level
 * 3, 6 and 7).
 */
export class SoftwareAuthenticator {
  readonly #origin: string;
  readonly #host: string;
  readonly #privateKey: KeyObject;
  readonly #coseKey: Buffer;
  readonly id = randomBytes(32);
  #count = 0;

  constructor(origin: string) {
    this.#origin = origin;
    this.#host = new URL(origin).hostname;
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    this.#privateKey = privateKey;
    const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
    // kty: EC2, alg: ES256, crv: P-256
    this.#coseKey = cbor(
      new Map<number, number | Buffer>([
        [1, 2],
        [3, -7],
        [-1, 1],
        [-2, Buffer.from(x, 'base64url')],
        [-3, Buffer.from(y, 'base64url')],
      ]),
    );
  }

  /** `navigator.credentials.create()` as JSON. */
  create(options: { readonly challenge: string }, flaws: AuthenticatorFlaws = {}) {
    const clientData = this.#clientData('webauthn.create', options.challenge, flaws);
    const length = Buffer.alloc(2);
    length.writeUInt16BE(this.id.length);
    const credential = Buffer.concat([Buffer.alloc(16), length, this.id, this.#coseKey]);
    const attestation = cbor(
      new Map<string, unknown>([
        ['fmt', 'none'],
        ['attStmt', new Map()],
        ['authData', Buffer.concat([this.#authenticatorData(0x40, flaws), credential])],
      ]),
    );
    const id = this.id.toString('base64url');
    return {
      id,
      rawId: id,
      type: 'public-key' as const,
      clientExtensionResults: {},
      response: {
        clientDataJSON: clientData.toString('base64url'),
        attestationObject: attestation.toString('base64url'),
        transports: ['internal' as const],
      },
    };
  }

  /** `navigator.credentials.get()` as JSON. */
  get(options: { readonly challenge: string }, flaws: AuthenticatorFlaws = {}) {
    this.#count += 1;
    const clientData = this.#clientData('webauthn.get', options.challenge, flaws);
    const authenticatorData = this.#authenticatorData(0, flaws);
    const digest = createHash('sha256').update(clientData).digest();
    const signature = createSign('sha256').update(authenticatorData).update(digest).sign(this.#privateKey);
    if (flaws.isForged === true)
      signature.writeUInt8(signature.readUInt8(signature.length - 1) ^ 1, signature.length - 1);
    const id = this.id.toString('base64url');
    return {
      id,
      rawId: id,
      type: 'public-key' as const,
      clientExtensionResults: {},
      response: {
        clientDataJSON: clientData.toString('base64url'),
        authenticatorData: authenticatorData.toString('base64url'),
        signature: signature.toString('base64url'),
      },
    };
  }

  #clientData(type: string, challenge: string, flaws: AuthenticatorFlaws): Buffer {
    return Buffer.from(
      JSON.stringify({
        type: flaws.type ?? type,
        challenge: flaws.challenge ?? challenge,
        origin: flaws.origin ?? this.#origin,
        crossOrigin: false,
      }),
    );
  }

  /** The hash of the host, the flags (present, verified), the signature counter. */
  #authenticatorData(flags: number, flaws: AuthenticatorFlaws): Buffer {
    const count = Buffer.alloc(4);
    count.writeUInt32BE(flaws.count ?? this.#count);
    const hash = createHash('sha256')
      .update(flaws.host ?? this.#host)
      .digest();
    return Buffer.concat([
      hash,
      Buffer.from([flags | 0x01 | (flaws.isUserVerified === false ? 0 : 0x04)]),
      count,
    ]);
  }
}

/** The part of CBOR (RFC 8949) that is needed here. */
function cbor(value: unknown): Buffer {
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value);
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value]);
  if (typeof value === 'string')
    return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)]);
  if (value instanceof Map)
    return Buffer.concat([
      head(5, value.size),
      ...[...value].flatMap(([key, inner]) => [cbor(key), cbor(inner)]),
    ]);
  throw new Error('not a value of this encoder');
}

function head(kind: number, size: number): Buffer {
  if (size < 24) return Buffer.from([(kind << 5) | size]);
  if (size < 256) return Buffer.from([(kind << 5) | 24, size]);
  return Buffer.from([(kind << 5) | 25, size >> 8, size & 255]);
}
