import { type Argon2Parameters, argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';

const derive = promisify(argon2);

/**
 * argon2id with 32 MiB and 3 passes: above the minimum of OWASP (19 MiB, 2 passes); about 90 ms of
 * one processor. A stored hash has its own parameters, so these can be raised later.
 */
const standardCost: HashCost = { memoryKib: 32_768, passes: 3, parallelism: 1 };
const saltBytes = 16;
const tagBytes = 32;
/**
 * How many hashes wait for their turn. One is computed at a time: 32 MiB, and one thread of the
 * four that also write the journal. The last of the queue waits for about two seconds.
 */
const maxWaiting = 16;

/** The shortest and the longest password, in characters. */
export const minPasswordLength = 10;
export const maxPasswordLength = 256;

/** Too many passwords are being hashed: the caller must retry later. */
export class HasherBusy extends Error {
  override readonly name = 'HasherBusy';
}

/** What a hash of argon2id costs to compute. */
interface HashCost {
  readonly memoryKib: number;
  readonly passes: number;
  readonly parallelism: number;
}

interface Stored extends HashCost {
  readonly salt: Buffer;
  readonly tag: Buffer;
}

/** Whether an owner may choose this password. Any character is permitted. */
export function isAcceptablePassword(password: string): boolean {
  const length = [...password].length;
  return length >= minPasswordLength && length <= maxPasswordLength && password.isWellFormed();
}

/** Hashes and verifies passwords outside of the main thread, one at a time. */
export class PasswordHasher {
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();
  readonly #cost: HashCost;
  /** A hash that no password matches: verifying it takes as long as verifying a real one. */
  readonly #dummy: Stored;

  /** Only tests state a cost, since their passwords protect nothing. */
  constructor(cost: HashCost = standardCost) {
    this.#cost = cost;
    this.#dummy = { ...cost, salt: randomBytes(saltBytes), tag: randomBytes(tagBytes) };
  }

  /** The hash of a password as a PHC string; throws `HasherBusy`. */
  async hash(password: string): Promise<string> {
    const salt = randomBytes(saltBytes);
    const tag = await this.#derive(password, { ...this.#cost, salt, tag: Buffer.alloc(tagBytes) });
    const { memoryKib: m, passes: t, parallelism: p } = this.#cost;
    return `$argon2id$v=19$m=${m},t=${t},p=${p}$${unpadded(salt)}$${unpadded(tag)}`;
  }

  /**
   * Whether a password matches a stored hash. With null (an unknown name, an owner without a
   * password) it takes the same time and returns false. Throws `HasherBusy`.
   */
  async verify(password: string, stored: string | null): Promise<boolean> {
    const known = stored === null ? null : parseStored(stored);
    const against = known ?? this.#dummy;
    const tag = await this.#derive(password, against);
    return timingSafeEqual(tag, against.tag) && known !== null;
  }

  /** Whether a stored hash is weaker than those that are made now. */
  needsRehash(stored: string): boolean {
    const known = parseStored(stored);
    return known === null || known.memoryKib < this.#cost.memoryKib || known.passes < this.#cost.passes;
  }

  async #derive(password: string, { memoryKib, passes, parallelism, salt, tag }: Stored): Promise<Buffer> {
    if (this.#waiting > maxWaiting) throw new HasherBusy('too many passwords are being hashed');
    this.#waiting += 1;
    const order: Argon2Parameters = {
      message: Buffer.from(password.normalize('NFC'), 'utf8'),
      nonce: salt,
      memory: memoryKib,
      passes,
      parallelism,
      tagLength: tag.length,
    };
    const turn = this.#last.then(() => derive('argon2id', order));
    this.#last = turn.catch(() => {});
    try {
      return await turn;
    } finally {
      this.#waiting -= 1;
    }
  }
}

function parseStored(text: string): Stored | null {
  const found =
    /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,3})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{22,86})$/.exec(
      text,
    );
  if (found === null) return null;
  const [, memory, passes, parallelism, salt = '', tag = ''] = found;
  return {
    memoryKib: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    salt: Buffer.from(salt, 'base64'),
    tag: Buffer.from(tag, 'base64'),
  };
}

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('=', '');
}
