import type { CompletionRequest } from '../wire/chat.ts';
import { countedElsewhere, promptText } from './prompt-size.ts';

/** Counts the tokens of a text as a common modern tokenizer (o200k) does. */
export type TokenCounter = (text: string) => number;

/**
 * Texts are counted in windows: the tokenizer takes seconds for 100 kB without spaces, but not for
 * windows of it.
 */
const windowLength = 512;
/** The number of windows counted before other requests run: about 10 ms of work. */
const windowsPerTurn = 64;
/** Tokens that a chat template adds around each message. */
const tokensPerMessage = 4;
/** Our own count of one image or recording. */
const tokensPerMediaPart = 765;

let loading: Promise<TokenCounter> | null = null;

/** The tokenizer; loaded on first use, which takes a quarter of a second. */
export function loadTokenCounter(): Promise<TokenCounter> {
  loading ??= import('gpt-tokenizer/encoding/o200k_base').then(({ countTokens }) => {
    // Text that spells a special token is plain text.
    const plain = { disallowedSpecial: new Set<string>() };
    return (text: string) => countTokens(text, plain);
  });
  return loading;
}

/** Counts texts; stops early above `enough`. */
export type CountTexts = (texts: Iterable<string>, enough?: number) => Promise<number>;

/** Our own count of a prompt; stops early above `enough`. Lets other requests run in between. */
export async function countPrompt(
  request: CompletionRequest,
  enough = Number.POSITIVE_INFINITY,
  count: CountTexts = countTexts,
): Promise<number> {
  const { tokenIds, messages } = countedElsewhere(request.input);
  const frame = request.kind === 'chat' ? messages * tokensPerMessage : 0;
  const base = tokenIds + frame + request.mediaParts * tokensPerMediaPart;
  return base + (await count(promptText(request.input, request.parameters).texts, enough - base));
}

/** The tokens of each window of the texts, in order. */
function* countWindows(texts: Iterable<string>, count: TokenCounter): Generator<number> {
  for (const text of texts)
    for (let at = 0; at < text.length; at += windowLength) yield count(text.slice(at, at + windowLength));
}

/** Our own count of texts, in this thread; stops early above `enough`. */
export async function countTexts(
  texts: Iterable<string>,
  enough = Number.POSITIVE_INFINITY,
): Promise<number> {
  const count = await loadTokenCounter();
  let tokens = 0;
  let windows = 0;
  for (const counted of countWindows(texts, count)) {
    tokens += counted;
    if (tokens > enough) return tokens;
    windows += 1;
    if (windows % windowsPerTurn === 0) await new Promise(setImmediate);
  }
  return tokens;
}
