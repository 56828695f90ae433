import { createHash } from 'node:crypto';
import type { TextRule } from './rules.ts';

/** Characters of the hash that keeps a shortened text apart from others. */
const hashLength = 8;

/**
 * Spellings of ids or names that an upstream accepts. A text that it accepts stays as it is;
 * different texts stay different; the same text has the same spelling in every request, so that
 * prompts stay cacheable.
 */
export class Spellings {
  readonly #rule: TextRule;
  readonly #spellings = new Map<string, string>();
  readonly #texts = new Map<string, string>();

  constructor(rule: TextRule) {
    this.#rule = rule;
  }

  /** Whether a text must be written differently. */
  isForeign(text: string): boolean {
    return !this.#accepts(text);
  }

  /** Keeps the accepted texts: no other text gets their spelling. */
  reserve(texts: Iterable<string>): void {
    for (const text of texts)
      if (this.#accepts(text)) {
        this.#spellings.set(text, text);
        this.#texts.set(text, text);
      }
  }

  of(text: string): string {
    const known = this.#spellings.get(text);
    if (known !== undefined) return known;
    let spelling = this.#accepts(text) ? text : this.#derive(text, 0);
    for (let salt = 1; this.#texts.has(spelling); salt += 1) spelling = this.#derive(text, salt);
    this.#spellings.set(text, spelling);
    this.#texts.set(spelling, text);
    return spelling;
  }

  /** The client's own text of a spelling; the spelling itself where it is nobody's. */
  textOf(spelling: string): string {
    return this.#texts.get(spelling) ?? spelling;
  }

  get isUsed(): boolean {
    for (const [text, spelling] of this.#spellings) if (text !== spelling) return true;
    return false;
  }

  #accepts(text: string): boolean {
    return text !== '' && text.length <= this.#rule.maxLength && this.#rule.pattern.test(text);
  }

  #derive(text: string, salt: number): string {
    const { maxLength, exactLength } = this.#rule;
    const hash = createHash('sha256')
      .update(`${salt === 0 ? '' : salt}${text}`)
      .digest('hex');
    if (exactLength !== undefined) return hash.slice(0, exactLength);
    const readable = text
      .normalize('NFKD')
      .replace(/[^a-zA-Z0-9_-]+/g, '_')
      .slice(0, maxLength - hashLength - 1);
    return `${/^[a-zA-Z_]/.test(readable) ? readable : `_${readable}`}`
      .slice(0, maxLength - hashLength - 1)
      .concat(`_${hash.slice(0, hashLength)}`);
  }
}
