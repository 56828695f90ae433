import { randomInt } from 'node:crypto';

/** Limits on the shape of a JSON body. */
export interface JsonLimits {
  /** Nesting of objects and arrays. */
  readonly depth: number;
  /** Objects, arrays and commas together: bounds the cost of parsing. */
  readonly parts: number;
  /** Names and strings together: each costs the engine ten times as much as a number. */
  readonly strings: number;
  /**
   * Distinct sequences of member names from the start of an object. The engine creates a hidden
   * class, or grows a hash table, for each; an object like an earlier one costs a tenth.
   */
  readonly shapes: number;
  /**
   * Escapes of characters that are escaped again on output: quotes, backslashes, control characters
   * and lone surrogates.
   */
  readonly escapes: number;
}

/**
 * Far above any real request: the largest are a few long strings. `JSON.parse` needs 6 s and 820 MB
 * for 25 MB of `{},`, and 350 ms for 250,000 member names; 20,000 shapes cost some 25 ms.
 * `JSON.stringify`, for the upstream, needs 550 ms for 25 MB of `\ud800`.
 */
export const bodyLimits: JsonLimits = {
  depth: 128,
  parts: 250_000,
  strings: 150_000,
  shapes: 20_000,
  escapes: 1_000_000,
};

/**
 * An upstream's response may be larger: 100,000 tokens with two alternatives each are a million
 * parts. Deeper values cannot be serialized: `JSON.stringify` overflows the stack at some 5,000
 * levels, while `JSON.parse` has no limit.
 */
export const responseLimits: JsonLimits = {
  depth: 128,
  parts: 1_000_000,
  strings: 2_000_000,
  shapes: 100_000,
  escapes: Number.POSITIVE_INFINITY,
};

/** Why a body is rejected. */
export type JsonFault = 'too_deep' | 'too_many_parts' | 'too_many_shapes' | 'too_many_escapes';

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const letterU = 0x75;
const slash = 0x2f;

/**
 * A string is checked byte by byte this far; then a native search continues, which takes 50 ns to
 * start.
 */
const lookedAtBytes = 64;
/**
 * The cost of `JSON.parse` and of what follows, in nanoseconds, each measured with the most
 * expensive values.
 */
const partNs = 50;
const stringNs = 700;
const shapeNs = 1_700;
const escapeNs = 25;
const byteNs = 4;

/**
 * Names are hashed with a random number that no client knows, so that no client can provoke
 * collisions.
 */
const multiplier = randomInt(1 << 20, 1 << 30) | 1;

/** A further sequence of names needs at least this many characters: `"",`. */
const minShapeLength = 3;

/** Whether a text's shape exceeds the limits. */
export function isHostile(text: string, limits: JsonLimits): boolean {
  const { parts, strings, shapes, escapes } = limits;
  // A part needs one character, a string two. A shorter text can only be too deep.
  if (text.length <= Math.min(parts, 2 * strings, minShapeLength * shapes, escapes))
    return isDeeper(text, limits.depth);
  return new JsonGuard(limits).push(Buffer.from(text)) !== null;
}

/** Whether objects and arrays are nested deeper than this. Does not validate JSON. */
function isDeeper(text: string, maxDepth: number): boolean {
  let depth = 0;
  let inString = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) inString = !inString;
    else if (inString) {
      if (code === backslash) at += 1;
    } else if (code === openBrace || code === openBracket) {
      depth += 1;
      if (depth > maxDepth) return true;
    } else if ((code === closeBrace || code === closeBracket) && depth > 0) depth -= 1;
  }
  return false;
}

/**
 * Checks the bytes of a JSON body as they arrive and reports a hostile shape before anything is
 * parsed. Long strings are skipped with native searches, so a body of one long string costs almost
 * nothing. Does not validate JSON.
 */
export class JsonGuard {
  readonly #limits: JsonLimits;
  #parts = 0;
  #strings = 0;
  #escapes = 0;
  #bytes = 0;
  #inString = false;
  /** Whether the current string is the name of a member. */
  #inName = false;
  /** Whether the next string is a name. */
  #expectsName = false;
  /**
   * How much of an escape was read: 0 nothing, 1 the backslash, 2 to 5 that many characters
   * including the `u`.
   */
  #escape = 0;
  #unit = 0;
  /** Whether the previous unit was the first half of a surrogate pair. */
  #inPair = false;
  /** For each open object the hash of its names so far, for each open array null. */
  readonly #open: (number | null)[] = [];
  #shapes: Set<number> | null = null;
  #hash = 0;

  constructor(limits: JsonLimits = bodyLimits) {
    this.#limits = limits;
  }

  /** The estimated time to parse the bytes so far, in milliseconds. */
  get parseMs(): number {
    return (
      (this.#bytes * byteNs +
        this.#parts * partNs +
        this.#strings * stringNs +
        (this.#shapes?.size ?? 0) * shapeNs +
        this.#escapes * escapeNs) /
      1e6
    );
  }

  /** The bytes so far, plus the extra cost to parse them, expressed as bytes of plain text. */
  get weightBytes(): number {
    return Math.ceil((this.parseMs * 1e6) / byteNs);
  }

  /** Checks the next bytes; returns why the body is rejected, or null. */
  push(bytes: Buffer): JsonFault | null {
    this.#bytes += bytes.length;
    let at = 0;
    while (at < bytes.length) {
      if (this.#inString) {
        at = this.#skipString(bytes, at);
        if (this.#escapes > this.#limits.escapes) return 'too_many_escapes';
        if (!this.#inString && this.#inName && this.#isNewShape()) return 'too_many_shapes';
        continue;
      }
      const fault = this.#take(bytes[at] ?? 0);
      if (fault !== null) return fault;
      at += 1;
    }
    return null;
  }

  /** Checks a byte outside strings. */
  #take(byte: number): JsonFault | null {
    switch (byte) {
      case quote:
        this.#inString = true;
        this.#inName = this.#expectsName;
        this.#expectsName = false;
        this.#strings += 1;
        return this.#strings > this.#limits.strings ? 'too_many_parts' : null;
      case openBrace:
      case openBracket:
        this.#open.push(byte === openBrace ? 1 : null);
        this.#hash = 1;
        this.#expectsName = byte === openBrace;
        this.#parts += 1;
        if (this.#open.length > this.#limits.depth) return 'too_deep';
        break;
      case closeBrace:
      case closeBracket:
        this.#open.pop();
        this.#expectsName = false;
        return null;
      case comma:
        this.#parts += 1;
        this.#hash = this.#open.at(-1) ?? 1;
        this.#expectsName = this.#open.at(-1) != null;
        break;
      default:
        return null;
    }
    return this.#parts > this.#limits.parts ? 'too_many_parts' : null;
  }

  /** Called at the end of a name; true when there are too many shapes. */
  #isNewShape(): boolean {
    this.#inName = false;
    // Separates names, so that "a", "b" differs from "ab".
    const shape = (Math.imul(this.#hash, multiplier) + 0x1_01) >>> 0;
    this.#open[this.#open.length - 1] = shape;
    this.#shapes ??= new Set();
    this.#shapes.add(shape);
    return this.#shapes.size > this.#limits.shapes;
  }

  /**
   * The offset after the string that contains `from`, or the end of the bytes when it continues
   * beyond them.
   */
  #skipString(bytes: Buffer, from: number): number {
    let at = from;
    let nextQuote = -1;
    let nextBackslash = -1;
    while (at < bytes.length) {
      if (this.#escape > 0) {
        at = this.#skipEscape(bytes, at);
        continue;
      }
      const plainEnd = this.#inName ? this.#hashName(bytes, at) : plainUntil(bytes, at);
      if (plainEnd > at) this.#endPair();
      at = plainEnd;
      if (at === bytes.length) return at;
      let byte = bytes[at];
      if (byte !== quote && byte !== backslash) {
        if (nextQuote < at) nextQuote = indexOfByte(bytes, quote, at);
        if (nextBackslash < at) nextBackslash = indexOfByte(bytes, backslash, at);
        at = Math.min(nextQuote, nextBackslash);
        if (at === bytes.length) return at;
        byte = bytes[at];
      }
      at += 1;
      if (byte === quote) {
        this.#inString = false;
        this.#endPair();
        return at;
      }
      at = this.#inName ? at : this.#skipUnits(bytes, at - 1) + 1;
      this.#escape = 1;
    }
    return at;
  }

  /**
   * Skips consecutive `\u` escapes, except the last one and a truncated one; returns the offset
   * after them, at a backslash.
   */
  #skipUnits(bytes: Buffer, from: number): number {
    let at = from;
    while (at + 6 < bytes.length && bytes[at + 6] === backslash && bytes[at + 1] === letterU) {
      const unit =
        (digitOf(bytes[at + 2]) << 12) |
        (digitOf(bytes[at + 3]) << 8) |
        (digitOf(bytes[at + 4]) << 4) |
        digitOf(bytes[at + 5]);
      this.#takeUnit(unit);
      at += 6;
    }
    return at;
  }

  /** Adds the plain characters of a name to its hash; returns the offset after them. */
  #hashName(bytes: Buffer, from: number): number {
    let hash = this.#hash;
    let at = from;
    for (; at < bytes.length; at += 1) {
      const byte = bytes[at] ?? 0;
      if (byte === quote || byte === backslash) break;
      hash = (Math.imul(hash, multiplier) + byte) | 0;
    }
    this.#hash = hash;
    return at;
  }

  /** Reads as much of an escape as there is; returns the offset after it. */
  #skipEscape(bytes: Buffer, from: number): number {
    let at = from;
    while (at < bytes.length && this.#escape > 0) {
      const byte = bytes[at] ?? 0;
      if (this.#inName) this.#hash = (Math.imul(this.#hash, multiplier) + byte) | 0;
      this.#takeEscaped(byte);
      at += 1;
    }
    return at;
  }

  /** Reads a byte of an escape, and counts an escape that is escaped again on output. */
  #takeEscaped(byte: number): void {
    if (this.#escape === 1 && byte === letterU) {
      this.#escape = 2;
      this.#unit = 0;
      return;
    }
    if (this.#escape === 1) {
      this.#escape = 0;
      this.#endPair();
      if (byte !== slash) this.#escapes += 1;
      return;
    }
    this.#unit = (this.#unit << 4) | digitOf(byte);
    this.#escape += 1;
    if (this.#escape < 6) return;
    this.#escape = 0;
    this.#takeUnit(this.#unit);
  }

  #takeUnit(unit: number): void {
    const isSecondHalf = unit >= 0xdc00 && unit <= 0xdfff;
    if (isSecondHalf && this.#inPair) {
      this.#inPair = false;
      return;
    }
    this.#endPair();
    if (unit >= 0xd800 && unit <= 0xdbff) this.#inPair = true;
    // A lone surrogate costs six times as much to write.
    else if (isSecondHalf) this.#escapes += 6;
    else if (unit < 0x20 || unit === quote || unit === backslash) this.#escapes += 1;
  }

  #endPair(): void {
    if (this.#inPair) this.#escapes += 6;
    this.#inPair = false;
  }
}

/** The value of a hexadecimal digit in either case. An invalid digit fails later in the parser. */
function digitOf(byte = 0): number {
  return (byte & 0x0f) + (byte > 0x39 ? 9 : 0);
}

/** The offset of the next quote or backslash, or an earlier one, at most `lookedAtBytes` away. */
function plainUntil(bytes: Buffer, from: number): number {
  const stop = Math.min(bytes.length, from + lookedAtBytes);
  let at = from;
  while (at < stop) {
    const byte = bytes[at];
    if (byte === quote || byte === backslash) break;
    at += 1;
  }
  return at;
}

function indexOfByte(bytes: Buffer, byte: number, from: number): number {
  const at = bytes.indexOf(byte, from);
  return at === -1 ? bytes.length : at;
}
