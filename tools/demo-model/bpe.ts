/** Byte pair encoding with byte fallback, in the format of llama.cpp's SentencePiece vocabulary. */

/** Token types as GGUF numbers them. */
export const tokenType = { normal: 1, unknown: 2, control: 3, userDefined: 4, unused: 5, byte: 6 } as const;

/** Tokens that mark a position in a conversation instead of text, by id. */
export const special = {
  unknown: 0,
  begin: 1,
  end: 2,
  system: 3,
  user: 4,
  assistant: 5,
  tools: 6,
  call: 7,
  argument: 8,
  toolResult: 9,
} as const;

// llama.cpp treats some names, such as `<|call|>`, as the end of a turn, but not these. The marks
// of a call are user-defined, not control tokens: the server reads them in the generated text.
const specialTokens: readonly (readonly [text: string, type: number])[] = [
  ['<unk>', tokenType.unknown],
  ['<s>', tokenType.control],
  ['</s>', tokenType.control],
  ['<|system|>', tokenType.control],
  ['<|user|>', tokenType.control],
  ['<|assistant|>', tokenType.control],
  ['<|tools|>', tokenType.control],
  ['<|use|>', tokenType.userDefined],
  ['<|with|>', tokenType.userDefined],
  ['<|tool|>', tokenType.control],
];

/** A vocabulary: three arrays of one length, in the order of the ids. */
export interface Vocabulary {
  readonly tokens: readonly string[];
  readonly types: readonly number[];
  readonly scores: readonly number[];
}

/** The mark of a space inside a token. */
const space = '▁';
const printableAscii = Array.from({ length: 95 }, (_, index) => String.fromCharCode(32 + index));

/**
 * Learns `merges` merges from `texts`, the most frequent pair first, on ties the one seen earlier.
 * A token never crosses the beginning of a word. The size is rounded up to a multiple of 16 with
 * unused tokens.
 */
export function learnVocabulary(texts: readonly string[], merges: number): Vocabulary {
  const words = countWords(texts);
  const characters = [
    ...new Set([...printableAscii.map(marked), ...texts.flatMap((text) => [...marked(text)])]),
  ].sort();
  const merged = learnMerges(words, merges).filter((token) => [...token].length > 1);
  const bytes = Array.from(
    { length: 256 },
    (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`,
  );
  const used = specialTokens.length + bytes.length + characters.length + merged.length;
  const unused = Array.from({ length: (16 - (used % 16)) % 16 }, (_, index) => `<unused${index}>`);
  const group = (count: number, type: number): number[] => Array<number>(count).fill(type);
  return {
    tokens: [...specialTokens.map(([text]) => text), ...bytes, ...characters, ...merged, ...unused],
    types: [
      ...specialTokens.map(([, type]) => type),
      ...group(bytes.length, tokenType.byte),
      ...group(characters.length + merged.length, tokenType.normal),
      ...group(unused.length, tokenType.unused),
    ],
    scores: [
      ...group(specialTokens.length + bytes.length, 0),
      ...group(characters.length, -1e4),
      ...merged.map((_, index) => -1 - index),
      ...group(unused.length, -1e5),
    ],
  };
}

/**
 * The encoder of a vocabulary: text to ids exactly as llama.cpp does it, without recognising
 * special tokens in the text.
 */
export function encoderOf(vocabulary: Vocabulary): (text: string) => readonly number[] {
  const idOf = new Map<string, number>();
  vocabulary.tokens.forEach((token, id) => {
    if (vocabulary.types[id] === tokenType.normal) idOf.set(token, id);
  });
  const scoreOf = (token: string): number =>
    vocabulary.scores[idOf.get(token) ?? -1] ?? Number.NEGATIVE_INFINITY;
  const idsOf = (part: string): readonly number[] => {
    const id = idOf.get(part);
    return id === undefined ? [...Buffer.from(part)].map((byte) => specialTokens.length + byte) : [id];
  };
  const known = new Map<string, readonly number[]>();
  return (text) =>
    (marked(text).match(/▁?[^▁]+|▁/g) ?? []).flatMap((word) => {
      const ids = known.get(word) ?? merge(word, scoreOf).flatMap(idsOf);
      known.set(word, ids);
      return ids;
    });
}

/** The parts of a word after all merges, the best score first, on ties the leftmost. */
function merge(word: string, scoreOf: (token: string) => number): string[] {
  const parts = [...word];
  for (;;) {
    let best = -1;
    let bestScore = Number.NEGATIVE_INFINITY;
    for (let at = 0; at + 1 < parts.length; at++) {
      const score = scoreOf(`${parts[at]}${parts[at + 1]}`);
      if (score > bestScore) [best, bestScore] = [at, score];
    }
    if (best < 0) return parts;
    parts.splice(best, 2, `${parts[best]}${parts[best + 1]}`);
  }
}

function marked(text: string): string {
  return text.replaceAll(' ', space);
}

/** Each word of the texts, with its leading space, and its number of occurrences. */
function countWords(texts: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const text of texts) {
    for (const word of marked(text).match(/▁?[^▁]+/g) ?? []) counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return counts;
}

function learnMerges(words: ReadonlyMap<string, number>, merges: number): string[] {
  const split = [...words].map(([word, count]) => ({ parts: [...word], count }));
  const learned = new Set<string>();
  for (let round = 0; round < merges; round++) {
    const pairs = new Map<string, number>();
    for (const { parts, count } of split) {
      for (let at = 0; at + 1 < parts.length; at++) {
        const pair = `${parts[at]}\n${parts[at + 1]}`;
        pairs.set(pair, (pairs.get(pair) ?? 0) + count);
      }
    }
    const [pair, count] = [...pairs].reduce((best, next) => (next[1] > best[1] ? next : best), ['', 1]);
    if (count < 2) break;
    const [left, right] = pair.split('\n');
    const token = `${left}${right}`;
    learned.add(token);
    for (const { parts } of split) {
      for (let at = 0; at + 1 < parts.length; at++) {
        if (parts[at] === left && parts[at + 1] === right) parts.splice(at, 2, token);
      }
    }
  }
  return [...learned];
}
