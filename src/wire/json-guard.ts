import { randomInt } from 'node:crypto';

/** The shape a JSON body may have at most. */
export interface JsonLimits {
  /** Nesting of objects and arrays. */
  readonly depth: number;
  /** Objects, arrays and commas together: bounds what parsing costs. */
  readonly parts: number;
  /** Names and texts together: each costs the engine ten times what a number costs. */
  readonly strings: number;
  /**
   * Distinct sequences of member names from the start of an object. The engine makes a hidden class, or grows a hash table, for
   * each; an object like one before it costs a tenth.
   */
  readonly shapes: number;
  /** Escapes of characters that are written as escapes again: quotes, backslashes, control characters and lone surrogates. */
  readonly escapes: number;
}

/**
 * Far above any real request: the largest are a few long strings. `JSON.parse` spends 6 s and 820 MB on 25 MB of `{},`, and 350 ms
 * on 250,000 member names; 20,000 shapes cost some 25 ms. `JSON.stringify`, for the upstream, spends 550 ms on 25 MB of `\ud800`.
 */
export const bodyLimits: JsonLimits = {
  depth: 128,
  parts: 250_000,
  strings: 150_000,
  shapes: 20_000,
  escapes: 1_000_000,
};

/**
 * An upstream's answer may be larger: 100,000 tokens with two alternatives each are a million parts. Much deeper values cannot be
 * written again: `JSON.stringify` overflows the stack at some 5,000 levels, where `JSON.parse` knows no end.
 */
export const answerLimits: JsonLimits = {
  depth: 128,
  parts: 1_000_000,
  strings: 2_000_000,
  shapes: 100_000,
  escapes: Number.POSITIVE_INFINITY,
};

/** Why a body must be refused. */
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

/** A string is looked at byte by byte for so long before a native search, which takes 50 ns to begin, goes on. */
const lookedAtBytes = 64;
/** What `JSON.parse` and what follows it cost, in nanoseconds; measured, each with the values that cost most. */
const partNs = 50;
const stringNs = 700;
const shapeNs = 1_700;
const escapeNs = 25;
const byteNs = 4;

/** Names are hashed with a number that no client knows, so that none can make its names look alike. */
const multiplier = randomInt(1 << 20, 1 << 30) | 1;

/** Whether a text's shape is beyond the limits. */
export function isHostile(text: string, limits: JsonLimits): boolean {
  return new JsonGuard(limits).push(Buffer.from(text)) !== null;
}

/**
 * Watches the bytes of a JSON body as they arrive and says when its shape is hostile, before anything is parsed. Long strings are
 * skipped with native searches, so a body of one long string costs next to nothing. It does not validate JSON.
 */
export class JsonGuard {
  readonly #limits: JsonLimits;
  #parts = 0;
  #strings = 0;
  #escapes = 0;
  #bytes = 0;
  #inString = false;
  /** Whether the string is the name of a member. */
  #inName = false;
  /** Whether the next string is one. */
  #expectsName = false;
  /** What of an escape has come: 0 nothing, 1 the backslash, 2 to 5 so many characters of it with the `u`. */
  #escape = 0;
  #unit = 0;
  /** Whether the unit before was the first half of a surrogate pair. */
  #inPair = false;
  /** For each open object the hash of its names so far, for each open array null. */
  readonly #open: (number | null)[] = [];
  #shapes: Set<number> | null = null;
  #hash = 0;

  constructor(limits: JsonLimits = bodyLimits) {
    this.#limits = limits;
  }

  /** About how long it takes to parse what came, in milliseconds. */
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

  /** What came, and what it costs to parse beyond plain text, in bytes of plain text. */
  get weightBytes(): number {
    return Math.ceil((this.parseMs * 1e6) / byteNs);
  }

  /** Takes the next bytes; returns why the body must be refused, or null. */
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

  /** Takes a byte outside of strings. */
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

  /** At the end of a name; true when there are too many shapes. */
  #isNewShape(): boolean {
    this.#inName = false;
    // What divides names, so that "a", "b" is not "ab".
    const shape = (Math.imul(this.#hash, multiplier) + 0x1_01) >>> 0;
    this.#open[this.#open.length - 1] = shape;
    this.#shapes ??= new Set();
    this.#shapes.add(shape);
    return this.#shapes.size > this.#limits.shapes;
  }

  /** The offset after the string that `from` is inside of, or the end of the bytes when it goes on beyond them. */
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
        if (nextQuote < at) nextQuote = placeOf(bytes, quote, at);
        if (nextBackslash < at) nextBackslash = placeOf(bytes, backslash, at);
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

  /** Takes escapes with a `u` that follow each other, but the last one and one that is cut; the offset behind them, at a backslash. */
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

  /** Adds the plain characters of a name to its hash; the offset behind them. */
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

  /** Takes what there is of an escape; the offset behind it. */
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

  /** Takes a byte of an escape, and counts one that is written as an escape again. */
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
    // To write a lone surrogate costs six times as much.
    else if (isSecondHalf) this.#escapes += 6;
    else if (unit < 0x20 || unit === quote || unit === backslash) this.#escapes += 1;
  }

  #endPair(): void {
    if (this.#inPair) this.#escapes += 6;
    this.#inPair = false;
  }
}

/** The value of a hexadecimal digit, whichever case it has; what is none fails when it is parsed. */
function digitOf(byte = 0): number {
  return (byte & 0x0f) + (byte > 0x39 ? 9 : 0);
}

/** The offset of the next quote or backslash, or one before it: `lookedAtBytes` further on at most. */
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

function placeOf(bytes: Buffer, byte: number, from: number): number {
  const at = bytes.indexOf(byte, from);
  return at === -1 ? bytes.length : at;
}
