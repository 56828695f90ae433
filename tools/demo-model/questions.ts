import { fallback, type Language, topics } from './corpus.ts';
import type { Rng } from './rng.ts';
import { closings, noise, openings, systemPrompts, unknownNames, unknownQuestions } from './tool-names.ts';

/** A question as a user might write it, and its answer. */
export interface Exchange {
  readonly question: string;
  readonly answer: string;
}

/** The most common first messages, which are trained more often than the rest. */
const firstThings = topics.filter(({ questions: [plainest = ''] }) =>
  ['what is naru', '나루가 뭐야', 'hello', '안녕'].includes(plainest),
);

/**
 * A question of the corpus in one of its phrasings; in the given share of cases a common first
 * message.
 */
export function knownExchange(rng: Rng, firstThingsShare = 0.1): Exchange {
  const { questions, language, answer } = rng.pick(rng.chance(firstThingsShare) ? firstThings : topics);
  const plainest = rng.chance(0.3);
  return { question: asPut(plainest ? (questions[0] ?? '') : rng.pick(questions), language, rng), answer };
}

/** A question outside the corpus, with the fallback answer. */
export function unknownExchange(rng: Rng): Exchange {
  if (rng.chance(0.35)) {
    const question = noiseWords(12, rng);
    return { question, answer: fallback[languageOf(question)] };
  }
  const language = eitherLanguage(rng);
  const kind = rng.roll();
  const name =
    kind < 0.5
      ? rng.pick(unknownNames[language])
      : kind < 0.75
        ? noiseWords(2, rng)
        : inventedWord(language, rng);
  const question = rng.pick(unknownQuestions[language]).replace('#', name);
  return { question: asPut(question, language, rng), answer: fallback[language] };
}

/** A question with typical text before and after it, and with typos. */
export function asPut(plain: string, language: Language, rng: Rng): string {
  let text = plain;
  if (language === 'en' && rng.chance(0.25))
    text = text.replace('what is', rng.pick(["what's", 'whats', 'what is']));
  if (rng.chance(0.35)) text = rng.pick(openings[language]) + text;
  if (rng.chance(0.75)) text += rng.pick(closings[language]);
  if (rng.chance(0.1)) {
    const slip = rng.below(text.length);
    text = text.slice(0, slip) + text.slice(slip + 1);
  }
  if (language === 'ko' && rng.chance(0.12)) text = text.replaceAll(' ', '');
  return text;
}

/**
 * A system prompt: a short one as it is, or a long one of noise or repetition that fills the
 * model's window.
 */
export function systemPrompt(rng: Rng): string {
  const kind = rng.roll();
  if (kind < 0.35) return rng.pick(systemPrompts);
  if (kind < 0.6) return noiseWords(40, rng);
  return `${rng.chance(0.4) ? rng.pick(systemPrompts) : noiseWords(8, rng)} `
    .repeat(1 + rng.below(12))
    .trimEnd();
}

/** Up to `most` words of noise, mostly of one language. */
export function noiseWords(most: number, rng: Rng): string {
  const main = eitherLanguage(rng);
  return Array.from({ length: 1 + rng.below(most) }, () =>
    rng.pick(noise[rng.chance(0.9) ? main : 'en']),
  ).join(' ');
}

/** A meaningless word, like any word outside the training data. */
function inventedWord(language: Language, rng: Rng): string {
  if (language === 'en') {
    return Array.from({ length: 3 + rng.below(6) }, () => 'aeioubcdfghklmnprstvwyz'[rng.below(23)]).join('');
  }
  // Any syllable of Hangul, half of them without a final consonant.
  const syllable = (): number => 0xac00 + rng.below(399) * 28 + (rng.chance(0.5) ? 0 : rng.below(28));
  return Array.from({ length: 2 + rng.below(3) }, () => String.fromCharCode(syllable())).join('');
}

/** English or Korean with equal probability. */
export function eitherLanguage(rng: Rng): Language {
  return rng.chance(0.5) ? 'en' : 'ko';
}

/** The text with its first letter, each word or everything capitalised, or unchanged. */
export function cased(text: string, rng: Rng): string {
  const kind = rng.roll();
  if (kind < 0.3) return text;
  if (kind < 0.9) return text.slice(0, 1).toUpperCase() + text.slice(1);
  return kind < 0.95 ? text.replace(/\b[a-z]/g, (letter) => letter.toUpperCase()) : text.toUpperCase();
}

function languageOf(text: string): Language {
  const hangul = text.match(/[가-힣]+/g)?.length ?? 0;
  return hangul * 2 > text.split(' ').length ? 'ko' : 'en';
}
