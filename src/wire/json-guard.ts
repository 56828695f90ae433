/** The shape a JSON body may have at most. */
export interface JsonLimits {
  /** Nesting of objects and arrays. */
  readonly depth: number;
  /** Objects, arrays and commas together: bounds what parsing costs. */
  readonly parts: number;
}

/**
 * Far above any real request: the largest are a few long strings. `JSON.parse` spends 6 s and 820 MB on 25 MB of `{},`; a
 * body of 250,000 parts costs it about 100 ms.
 */
export const bodyLimits: JsonLimits = { depth: 128, parts: 250_000 };

/**
 * An upstream's answer may be larger: 100,000 tokens with two alternatives each are a million parts. Much deeper values cannot be
 * written again: `JSON.stringify` overflows the stack at some 5,000 levels, where `JSON.parse` knows no end.
 */
export const answerLimits: JsonLimits = { depth: 128, parts: 1_000_000 };

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;

/** Whether a text's shape is beyond the limits. */
export function isHostile(text: string, limits: JsonLimits): boolean {
  return new JsonGuard(limits).push(Buffer.from(text)) !== null;
}

/**
 * Watches the bytes of a JSON body as they arrive and says when its shape is hostile, before anything is parsed. Strings are
 * skipped with native searches, so a body of one long string costs next to nothing. It does not validate JSON.
 */
export class JsonGuard {
  readonly #limits: JsonLimits;
  #depth = 0;
  #parts = 0;
  #inString = false;
  #escaped = false;

  constructor(limits: JsonLimits = bodyLimits) {
    this.#limits = limits;
  }

  /** Takes the next bytes; returns why the body must be refused, or null. */
  push(bytes: Buffer): 'too_deep' | 'too_many_parts' | null {
    let at = 0;
    while (at < bytes.length) {
      if (this.#inString) {
        at = this.#skipString(bytes, at);
        continue;
      }
      const byte = bytes[at];
      at += 1;
      if (byte === quote) this.#inString = true;
      else if (byte === openBrace || byte === openBracket) {
        this.#depth += 1;
        this.#parts += 1;
        if (this.#depth > this.#limits.depth) return 'too_deep';
      } else if (byte === closeBrace || byte === closeBracket) this.#depth -= 1;
      else if (byte === comma) this.#parts += 1;
      if (this.#parts > this.#limits.parts) return 'too_many_parts';
    }
    return null;
  }

  /** The offset after the string that `at` is inside of, or the end of the bytes when it goes on beyond them. */
  #skipString(bytes: Buffer, from: number): number {
    let at = from;
    if (this.#escaped) {
      this.#escaped = false;
      at += 1;
    }
    for (;;) {
      const end = bytes.indexOf(quote, at);
      const stop = end === -1 ? bytes.length : end;
      // A run of backslashes before the quote decides whether it is escaped: an odd run escapes it.
      let run = 0;
      while (stop - 1 - run >= at && bytes[stop - 1 - run] === backslash) run += 1;
      if (end === -1) {
        this.#escaped = run % 2 === 1;
        return bytes.length;
      }
      if (run % 2 === 0) {
        this.#inString = false;
        return end + 1;
      }
      at = end + 1;
    }
  }
}
