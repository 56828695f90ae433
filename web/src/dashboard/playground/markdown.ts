import { Lexer, type Links, type Token } from 'marked';

/** Blocks of Markdown, and how many link definitions they have seen. */
export interface Blocks {
  readonly tokens: readonly Token[];
  readonly definitions: number;
}

/**
 * The blocks of a text that grows. Only its last two are read again, since a list may go on behind an
 * empty line: so a long answer costs no more for each piece than a short one.
 */
export class GrowingMarkdown {
  #text = '';
  #tokens: readonly Token[] = [];
  #links: Links = {};

  blocksOf(text: string): Blocks {
    if (text !== this.#text) this.#read(text);
    return { tokens: this.#tokens, definitions: Object.keys(this.#links).length };
  }

  #read(text: string): void {
    const isLonger = this.#text !== '' && text.startsWith(this.#text);
    const [, from = 0] = isLonger
      ? this.#tokens.flatMap(({ type }, at) => (type === 'space' ? [] : [at])).reverse()
      : [];
    const kept = this.#tokens.slice(0, from);
    const offset = kept.reduce((sum, { raw }) => sum + raw.length, 0);
    if (!isLonger) this.#links = {};
    this.#tokens = [...kept, ...lexed(text.slice(offset), this.#links)];
    this.#text = text;
  }
}

/** Of a text that nests deeper than the stack, the paragraph that does so is shown as it is. */
function lexed(text: string, links: Links): readonly Token[] {
  const lexer = new Lexer({ gfm: true, breaks: true });
  lexer.tokens.links = links;
  try {
    return lexer.lex(text);
  } catch {
    const parts = text.split(/(?<=\n\n)/);
    if (parts.length > 1) return parts.flatMap((part) => lexed(part, links));
    return [{ type: 'html', raw: text, text, pre: false, block: true }];
  }
}
